"""Append to conversations and read their windows."""
