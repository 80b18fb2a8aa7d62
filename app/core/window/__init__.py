"""The window: from a budget to messages."""
