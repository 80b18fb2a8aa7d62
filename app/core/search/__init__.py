"""Search: finding, ranking, narrowing."""
