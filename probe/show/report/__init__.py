"""The report of finished runs: one page that needs nothing but a browser."""
