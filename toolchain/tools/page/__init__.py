"""One self-contained HTML page of compilations, their stages linked line by line."""

from .write import Written, write_page

__all__ = ["Written", "write_page"]
