"""What windows hold, and what they save."""
