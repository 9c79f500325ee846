"""The measurements of `scripts/ulps.py`."""
