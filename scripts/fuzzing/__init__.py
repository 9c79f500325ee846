"""Random programs and spoiled inputs, and what to do with them. Run by `scripts/fuzz.py`."""
