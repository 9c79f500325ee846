"""Few compiled programs for arrays of many lengths, where the results prove to be the same."""

from __future__ import annotations
