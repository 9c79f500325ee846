"""The rows of FIT.md, read from what `fit.run` writes and from FIT.md itself.

FIT.md keeps every number that it was made from, so that a row can be measured anew on a machine
that has no other record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerators_report import cells_of_line

Record = dict[str, Any]

UNITS = {"MiB": 2**20, "GiB": 2**30}


def key_of(program: str, variant: str, label: str) -> str:
    """What identifies a row: "gpt2-small/block/tpu:v5e"."""
    return f"{program}/{variant}/{label}"


def read_records(file: Path) -> dict[str, Record]:
    """The last record of each row by key; none if the file does not exist."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {record["key"]: record for record in map(json.loads, lines)}


def cells_of(record: Record) -> dict[str, str]:
    """The cells of a record below the heads of the columns; empty for what it does not have."""
    of = {"peak": size(record), "ms": time(record)}
    for head, (key, form, _) in _PLAIN.items():
        of[head] = form.format(record[key]) if key in record else ""
    return of


def read_table(file: Path) -> dict[str, Record]:
    """The records of a results file by key; none if the file does not exist."""
    found: dict[str, Record] = {}
    label, heads = "", [""]
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("## "):
            label = line[3:]
        cells = cells_of_line(line)
        if cells[0] == "program":
            heads = cells
        elif heads[1:2] == ["variant"] and len(cells) == len(heads) and cells[0] != "---":
            row = dict(zip(heads, cells, strict=True))
            key = key_of(row["program"], row["variant"], label)
            found[key] = {"key": key} | _record_of(row)
    return found


def size(record: Record | None) -> str:
    """The peak, in bold if the device has less; why there is none."""
    if record is None:
        return ""
    if "peak" not in record:
        return record["failed"]
    number, unit = record["peak"] / 2**30, "GiB"
    if number < 1:
        number, unit = 2**10 * number, "MiB"
    text = f"{number:.4g} {unit}"
    return text if record.get("fits", True) else f"**{text}**"


def time(record: Record | None) -> str:
    """The time of a step; empty if there is none."""
    return f"{1e3 * record['seconds']:.4g}" if record and "seconds" in record else ""


_PLAIN: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "compiled, s": ("compile_seconds", "{:.0f}", float),
    "error": ("error", "{:.1g}", float),
    "versions": ("compilations", "{}", int),
    "searched, s": ("search_seconds", "{:.0f}", float),
    "jax": ("jax", "{}", str),
    "commit": ("commit", "{}", str),
}
"""Columns that show one value of a record: its key, how it is written, and how it is read."""


def _record_of(row: dict[str, str]) -> Record:
    number, _, unit = row["peak"].strip("*").partition(" ")
    found: Record = {"failed": row["peak"]}
    if unit in UNITS:
        found = {"peak": float(number) * UNITS[unit], "fits": row["peak"][0] != "*"}
    if row["ms"]:
        found["seconds"] = float(row["ms"]) / 1e3
    for head, (key, _, read) in _PLAIN.items():
        if text := row.get(head, ""):
            found[key] = read(text)
    return found
