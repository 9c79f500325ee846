"""Times, lines and ops as the report writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any


def lines_of(places: Iterable[Any], most: int = 2) -> str:
    """The first lines of Python among `places`, and how many more there are."""
    texts = list(dict.fromkeys(map(line_of, places)))
    more = f" +{len(texts) - most}" if len(texts) > most else ""
    return " ".join(texts[:most]) + more


def kernel_ops(kernel: Any, most: int = 4) -> str:
    """The ops in a kernel, the most frequent first."""
    ranked = sorted(kernel.ops.items(), key=lambda each: -each[1])
    texts = [f"{name} {count}" if count > 1 else name for name, count in ranked]
    more = f" +{len(texts) - most}" if len(texts) > most else ""
    return " ".join(texts[:most]) + more


def line_of(place: Any) -> str:
    """A line of Python: its file by name alone where it is not below the current directory."""
    if place is None:
        return ""
    text = str(place)
    return os.path.basename(text) if os.path.isabs(text) else text
