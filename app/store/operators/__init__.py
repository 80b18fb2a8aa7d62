"""Limits, and the log of reads and erasures."""
