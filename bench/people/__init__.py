"""Memories about people: wishes that hold everywhere, and everything that must not."""
