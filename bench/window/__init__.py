"""The content of windows, and their savings."""
