"""Bytes on disk.

In: content and what decides it. Out: files that are there whole or not at all, and finished work found again.
Knows nothing of texts, topics or models.
"""
