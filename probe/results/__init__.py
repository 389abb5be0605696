"""The tables of a run.

In: estimates. Out: frames and files, read back, compared, and set beside the paper's printed numbers.
Knows nothing of how they look.
"""
