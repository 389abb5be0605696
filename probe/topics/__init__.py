"""Which words are of one topic.

In: bags of words and theta. Out: p(w | t), and the words of every topic.
Knows nothing of models.
"""
