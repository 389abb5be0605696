"""What a person looks at.

In: the tables of a run. Out: text for a terminal, markdown, LaTeX, figures.
Knows nothing of how the numbers were made.
"""
