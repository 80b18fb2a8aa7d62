"""Text: language, words, terms, keyword vectors, tokens and masks."""
