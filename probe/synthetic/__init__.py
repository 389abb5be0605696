"""The sandbox of the paper's theory: topic-model documents, a one-layer transformer, its optima."""
