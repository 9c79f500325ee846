"""The size of the heap, whose growth tells how many events are recorded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of malloc.h."""

    _fields_ = [
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    ]


@cache
def _mallinfo() -> Callable[[], Any] | None:
    try:
        found = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):  # another C library, or glibc before 2.33
        return None
    found.restype = _MallInfo
    return found


def heap_bytes() -> int:
    """The bytes of the heap in use, by glibc; 0 if unknown.

    Large arrays are mapped one by one, and not among them.
    """
    mallinfo = _mallinfo()
    return int(mallinfo().uordblks) if mallinfo is not None else 0
