"""What a tokenizer makes of a corpus.

In: documents and a fast tokenizer. Out: a vocabulary, tokens on disk, passages, bags of words.
Knows nothing of topics, nor of a model's weights.
"""
