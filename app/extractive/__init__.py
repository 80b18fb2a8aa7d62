"""Analyse text without a model: lines, titles, key terms, summaries and lasting wishes."""
