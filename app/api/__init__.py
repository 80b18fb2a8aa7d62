"""The HTTP edge: a router for each resource, and what all of them share."""
