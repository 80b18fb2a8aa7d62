"""What is shown: how a budget becomes a window."""
