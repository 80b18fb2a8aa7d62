"""Parts of conversations, for people and tests."""
