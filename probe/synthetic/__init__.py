"""The paper's sandbox.

In: a topic model of synthetic words. Out: a one-layer transformer trained on it, the theorems, the paper's figures.
Knows nothing of corpora and of pretrained models.
"""
