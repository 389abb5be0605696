"""Probe language models for the topics of their corpus."""
