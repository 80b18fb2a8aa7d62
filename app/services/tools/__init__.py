"""The recall tools that a model calls."""
