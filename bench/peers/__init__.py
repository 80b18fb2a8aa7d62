"""Quire's alternatives on the same work."""
