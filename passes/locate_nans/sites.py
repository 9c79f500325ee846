"""What is recorded, and how it hangs together: the table that is written beside the record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from jxc.ir.locations import frames_of, path_of

from .values import type_name


@dataclass(eq=False)
class Site:
    """One number of the record, and what it is about.

    Attributes:
        kind: "value", a magnitude of what an op made; "argument", of @main's; "constant";
            "carried", of what a turn of a loop is given; "result", of what a loop or a branch
            returns; "turn", the number, from 1, of the turn that a loop's other numbers are of, 0
            for none; "statistics", the first of several of one value; "more", the others.
        op: the op's name.
        location: where it was written.
        type: of the value, as JAX writes it.
        operands: of the op: the type, and its site where it may hold a NaN.
        within: the turn of the loop that it is in.
        number: of the op, in the order in which they are looked at.
    """

    kind: str
    op: str
    location: ir.Location
    type: str = ""
    operands: Sequence[tuple[str, Site | None]] = ()
    within: Site | None = None
    number: int = -1


def table_of(sites: Sequence[Site]) -> dict[str, Any]:
    """The sites as JSON has them: places in the record in place of the sites themselves.

    Frames are many and repeat: they are listed once, and an entry has the place in that list.
    """
    at = {id(site): index for index, site in enumerate(sites)}
    stacks: dict[str, int] = {}
    entries = [_entry(site, at, stacks) for site in sites]
    return {"sites": entries, "stacks": [json.loads(stack) for stack in stacks]}


def _entry(site: Site, at: dict[int, int], stacks: dict[str, int]) -> dict[str, Any]:
    if site.kind == "more":
        return {"kind": "more"}
    return {
        "kind": site.kind,
        "op": site.op.removeprefix("stablehlo."),
        "path": path_of(site.location),
        "stack": stacks.setdefault(json.dumps(frames_of(site.location)), len(stacks)),
        "type": site.type,
        "operands": [[kind, -1 if each is None else at[id(each)]] for kind, each in site.operands],
        "within": -1 if site.within is None else at[id(site.within)],
        "number": site.number,
    }


def operands_of(op: ir.OpView, known: dict[ir.Value, Site]) -> list[tuple[str, Site | None]]:
    """The operands of an op as a site lists them."""
    return [(type_name(value.type), known.get(value)) for value in op.operands]
