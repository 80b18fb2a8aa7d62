"""What a user would pick instead, on the same work."""
