"""The measures. Each returns sums and counts that add up; means and ratios are made once, at the end."""
