"""Decisions as pure functions of values: standard library only, no I/O, clock, randomness or settings."""
