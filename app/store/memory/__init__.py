"""Statements over what search finds: memories, their vectors, lines."""
