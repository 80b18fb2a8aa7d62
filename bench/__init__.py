"""What Quire promises about cost, measured: `make bench`, or `python -m bench [NAMES] [--quick] [--write]`."""
