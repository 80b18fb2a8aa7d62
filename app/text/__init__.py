"""Text: its language, words and terms; keyword vectors; tokens."""
