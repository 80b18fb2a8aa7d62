"""Memories and archives: storing, indexing and searching them."""
