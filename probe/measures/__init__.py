"""What is measured.

In: batches of passages, the topics of words, a model. Out: sums and counts that add up.
Knows nothing of intervals and tables: means and ratios are made from the sums, once, at the end.
"""
