"""Settings of a run that takes a second."""

SMALL = {"passages": 60, "max_length": 48, "resamples": 50, "batch_tokens": 512, "theta": (0.01, 0.05)}


def lda(topics=4):
    from probe.topics.settings import LdaSettings

    return LdaSettings(topics=topics, passes=1, chunksize=16)
