"""Pretraining of small models of the paper's five families, and what is measured as they learn."""
