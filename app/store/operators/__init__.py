"""What operators ask for: limits, and the log of reads and erasures."""
