"""What `scripts/check_rules.py` and `scripts/catalogue.py` share."""
