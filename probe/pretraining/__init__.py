"""Small models trained here.

In: a corpus and a family. Out: a model with its checkpoints, and when topic structure appears in them.
Knows nothing of the command line.
"""
