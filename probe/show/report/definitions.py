"""The terms of the page, each with what it means, as docs/measures.md has it."""

TERMS = {
    "ratio": "A mean over pairs of words of one topic, divided by the mean over pairs of words of different topics. "
    "1 means no topic structure.",
    "interval": "Central 95 % bootstrap interval: over topics for embeddings, over documents for attention.",
    "null": "The ratio when topics are dealt out at random among the words that carry them, sizes kept: the middle "
    "95 %.",
    "theta": "Ambiguity threshold. A topic keeps its k likeliest words, k = floor(theta n) + 1 of the n words of the "
    "topic model.",
    "cosine": "Mean cosine similarity of rows of the input embedding matrix (for random weights: of the embedding "
    "layer's output), over all pairs of different words that carry topics.",
    "dot": "The same with dot products.",
    "attention": "Mean attention between occurrences of different words that carry topics, made independent of the "
    "passage's length, averaged over heads and layers.",
    "random weights": "The same architecture, untrained: what the measure and the words give by themselves.",
    "printed": "What Li, Li and Risteski (ICML 2023) print for this model and theta, on another corpus and other "
    "topics.",
    "matched": "Pairs of different topics are weighed so that they are like the same-topic pairs in something else: "
    "how far apart they stand, how often they occur together, how frequent their words are.",
    "share of the effect": "The excess of a topic's pairs over the different-topic mean, as a share of that of all "
    "topics. Shares add up to 1 and may be negative.",
    "share of the text": "How much of the text's words the topic accounts for in the mixture of topics that fits the "
    "words' counts best.",
    "q-value": "The p-value of a head's ratio, corrected for how many heads are tested (false discovery rate).",
    "single assignment": "A word that several topics keep stays with the one where it is likeliest.",
}
"""What each term means."""
