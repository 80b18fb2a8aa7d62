"""Appending to conversations and reading their windows."""
