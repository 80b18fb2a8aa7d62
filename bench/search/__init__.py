"""Whether search finds earlier messages again, and its cost."""
