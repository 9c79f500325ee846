"""Reading an HLO module's text: its lines, and the Python lines that its instructions come from."""

from __future__ import annotations

import re

from ...hlo.frames import Frames, op_name_of
from .links import Links
from .text import QUOTED, Stage, make_stage

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_METADATA = re.compile(rf", metadata=\{{(?:[^\"{{}}]|{QUOTED})*\}}")
_CONFIG = re.compile(r", backend_config=(\{.{60,}\})")
_HEADER = re.compile(r", (?:entry_computation_layout|allow_spmd_sharding_\w+)=\{.*$")


def read_hlo(text: str, links: Links, title: str = "optimised HLO") -> Stage:
    """An HLO module's text, of which tables and metadata are taken off and become the links."""
    body, tables = _split(text.rstrip().splitlines())
    frames = Frames(tables)
    lines: list[str] = []
    found: list[int] = []
    known = {"": 0}
    for line in body:
        metadata = _METADATA.search(line)
        shown = line[: metadata.start()] + line[metadata.end() :] if metadata else line
        if shown.startswith("HloModule"):
            shown = _HEADER.sub(", \u2026", shown)
        lines.append(_CONFIG.sub(", backend_config={\u2026}", shown))
        where = metadata[0] if metadata else ""
        if where not in known:
            known[where] = links.add(op_name_of(where), frames.stack_of(where))
        found.append(known[where])
    return make_stage(title, "hlo", lines, found)


def _split(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The lines to show, and the rows of the tables at the head."""
    tables: dict[str, list[str]] = {}
    body: list[str] = []
    rows: list[str] | None = None
    for line in lines:
        if line.strip() in _TABLES:
            rows = tables.setdefault(line.strip(), [])
        elif rows is not None and line.strip():
            rows.append(line)
        elif rows is not None:
            rows = None
        elif line.strip() or (body and body[-1]):
            body.append(line)
    return body, tables
