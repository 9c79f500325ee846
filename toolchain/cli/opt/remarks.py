"""Remarks of rules, as `jxc opt` prints them and as the YAML of LLVM's remarks."""

from __future__ import annotations

import json
import re

from ...rewrite import Remark

_AT = re.compile(r"(?P<file>.*):(?P<line>\d+):(?P<column>\d+)")


def message(remark: Remark) -> str:
    """The remark in MLIR's form: `[Missed] RULE | Reason="..."`."""
    key = "Reason" if remark.kind == "missed" else "Remark"
    return f"[{remark.kind.title()}] {remark.rule} | {key}={json.dumps(remark.text)}"


def where(remark: Remark, name: str) -> str:
    """The location of a remark, with `name` as the file of a module parsed from memory."""
    at = re.sub(r"^-:", lambda _: f"{name}:", remark.location)
    return at or name


def as_yaml(remark: Remark, name: str) -> str:
    """The remark as a document of LLVM's YAML, which names a function that jxc does not know."""
    found = _AT.fullmatch(where(remark, name))
    place = ""
    if found:
        file, line, column = found.groups()
        place = f"DebugLoc:        {{ File: {_quoted(file)}, Line: {line}, Column: {column} }}\n"
    key = "Reason" if remark.kind == "missed" else "Remark"
    return (
        f"--- !{remark.kind.title()}\n"
        "Pass:            jxc\n"
        f"Name:            {remark.rule}\n"
        f"{place}"
        "Function:        '<unknown function>'\n"
        "Args:\n"
        f"  - {key}:          {_quoted(remark.text)}\n"
        "...\n"
    )


def _quoted(text: str) -> str:
    """A YAML scalar in single quotes, on one line."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"
