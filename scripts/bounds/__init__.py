"""What `scripts/ulps.py` measures, and how."""
