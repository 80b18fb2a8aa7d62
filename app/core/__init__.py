"""Every decision Quire makes, as pure functions of values: no I/O, clock, randomness or settings."""
