"""Models as they are measured.

In: a name or a folder. Out: a loaded model that is listened to: attention rows and embeddings, whatever its family.
Knows nothing of corpora and topics.
"""
