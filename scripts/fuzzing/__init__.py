"""Random programs and corrupted inputs for `scripts/fuzz.py`."""
