"""From sums to numbers.

In: sums and counts. Out: ratios with their intervals, nulls and matched controls.
Knows nothing of files, and needs no model.
"""
