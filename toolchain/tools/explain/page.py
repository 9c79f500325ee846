"""The HTML page of a recorded program: one entry for each compilation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..page import PageEntry, WrittenPage, write_page
from .records import Compilation


def write_html(path: str | Path, compilations: Sequence[Compilation], title: str) -> WrittenPage:
    """Write the page of these compilations; see `write_page` for errors."""
    return write_page(path, list(map(_entry, compilations)), title)


def _entry(each: Compilation) -> PageEntry:
    static = {name: f"{value} (static)" for name, value in each.static.items()}
    arguments = {**each.arguments, **static}
    reason = each.reason
    return PageEntry(
        number=each.number,
        title=each.function,
        seconds=each.seconds,
        started=each.started,
        called=each.called,
        defined=each.defined,
        arguments=", ".join(f"{name}: {value}" for name, value in arguments.items()),
        reason=reason.sentence if reason else "",
        fix=reason.fix if reason else "",
        nearest=reason.nearest if reason else 0,
        ops=each.ops,
        flops=each.flops,
        peak_bytes=each.peak_bytes,
        temporary_bytes=each.temporary_bytes,
        cache_key=each.cache_key,
        from_cache=each.from_cache,
        is_eager=each.is_eager,
        texts=each.texts,
    )
