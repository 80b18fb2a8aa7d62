"""The HTTP edge: a router for each resource, and what they share."""
