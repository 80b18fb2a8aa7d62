"""What is kept of people: wishes that follow them, and everything that must not."""
