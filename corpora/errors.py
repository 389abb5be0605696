"""What this package says when a corpus cannot be read."""


class CorpusError(ValueError):
    """A source that cannot be read: one sentence, on one line, that names it and the way out."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class BrokenInputError(CorpusError):
    """Input that breaks off or turns to garbage part of the way: what came before it was whole."""
