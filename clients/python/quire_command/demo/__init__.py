"""A conversation of a hundred turns, and its replay through a running Quire."""
