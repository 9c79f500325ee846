"""Code shared by `scripts/check_rules.py` and `scripts/catalogue.py`."""
