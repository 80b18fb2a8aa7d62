"""Whether what was said is found again, and what finding costs."""
