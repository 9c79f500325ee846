"""Fresh environments and what runs in them: used by `check_dist.py` and `canary.py`."""
