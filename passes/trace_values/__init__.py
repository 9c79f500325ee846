"""The pass `trace-values`: statistics of chosen values of a compiled program."""

from __future__ import annotations

import json
from typing import Any

from jaxlib.mlir import ir

from jxc.errors import JxcError, UsageError
from jxc.ir.extra_results import EXTRA_RESULTS, add_results
from jxc.ir.locations import frames_of, inline_calls, path_of
from jxc.ir.module import main_of
from jxc.rewrite import module_pass

from ..locate_nans.values import record_type, type_name
from .choose import Chosen, choose
from .thread import Tracer


@module_pass(changes=(EXTRA_RESULTS,), adds_results="jxc.tools.debug.executable:compiled")
def trace_values(
    module: ir.Operation, *, match: str = "", iterations: int = 8, most: int = 64
) -> None:
    """Record statistics of the values that `match` names: min, max, mean, NaN, inf, zeros.

    The program's results do not change. The statistics are an extra result that jxc's own compile
    reads: `jxc compile ... -p 'trace-values{match=log}' --run` prints them, and from Python the
    executable's `run` returns them. `match` is one or more patterns separated by `|`; `*` stands
    for anything:

        dot_general       an op, by its name in StableHLO or JAX
        train.py:14       ops of that line, and of what it calls
        loss              ops of a function of that name, and of what it calls
        */attn/*          ops with such a path in JAX ("jit(f)/attn/exp")

    For a value in a loop, there are statistics over all iterations, and of each of the first
    `iterations` iterations. At most `most` values are traced, and the number of others is reported.
    Calls are inlined; values inside a shard_map cannot be traced.
    """
    if not match:
        raise UsageError("trace-values needs to know which: trace-values{match=train.py:14}")
    if iterations < 0 or most < 1:
        raise UsageError("trace-values: expected iterations from 0 and most from 1")
    if main_of(module) is None:
        raise JxcError("trace-values: expected a function @main, to whose results it adds one")
    inline_calls(module)
    main = main_of(module)
    assert main is not None
    found = choose(main, match)
    tracer = Tracer(record_type(module), found[:most], iterations)
    table = {"match": match, "left_out": max(len(found) - most, 0), **_table(found[:most], tracer)}
    add_results(module, "trace-values", [tracer.main(main)], table)


def _table(chosen: list[Chosen], tracer: Tracer) -> dict[str, Any]:
    stacks: dict[str, int] = {}
    entries = [
        {
            "op": each.op.operation.name.removeprefix("stablehlo."),
            "path": path_of(each.op.location),
            "stack": stacks.setdefault(json.dumps(frames_of(each.op.location)), len(stacks)),
            "type": type_name(each.value.type),
            "depth": each.depth,
            "rows": tracer.rows(each),
        }
        for each in chosen
    ]
    return {"values": entries, "stacks": [json.loads(stack) for stack in stacks]}
