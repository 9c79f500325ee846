"""Results beside the user's: what an instrumenting pass adds to @main, and says of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

from .effects import is_pure
from .module import functions, has_regions
from .values import is_used

BESIDE = "jxc.beside"
"""The module attribute that lists the added results, the oldest first: `Added`, entry by entry."""


@dataclass(frozen=True)
class Added:
    """Results that one pass added to @main, behind all others.

    Attributes:
        by: the pass.
        types: of the results.
        table: what they mean; the pass and who reads its results know.
    """

    by: str
    types: tuple[ir.Type, ...]
    table: dict[str, Any]


def main_of(module: ir.Module | ir.Operation) -> ir.OpView | None:
    """The function @main, if there is one."""
    body = module.operation.regions[0].blocks[0]
    return next((op for op in body.operations if _symbol(op) == "main"), None)


def _symbol(op: ir.OpView) -> str:
    if op.operation.name != "func.func":
        return ""
    return ir.StringAttr(op.attributes["sym_name"]).value


def terminator(block: ir.Block) -> ir.OpView:
    """The last op of a block."""
    return block.operations[len(block.operations) - 1]


def add_results(
    module: ir.Operation, by: str, values: Sequence[ir.Value], table: dict[str, Any]
) -> None:
    """Let @main return `values` too, behind its own results, and write down what they are."""
    main = main_of(module)
    assert main is not None
    last = terminator(main.regions[0].blocks[0])
    with ir.InsertionPoint(last), last.location:
        func.return_([*last.operands, *values])
    last.operation.erase()
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    results = [*kind.results, *(value.type for value in values)]
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kind.inputs, results))
    if "res_attrs" in main.attributes:
        nothing = [ir.DictAttr.get({}) for _ in values]
        main.attributes["res_attrs"] = ir.ArrayAttr.get([*main.attributes["res_attrs"], *nothing])
    entry = {
        "by": ir.StringAttr.get(by),
        "results": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(values)),
        "table": ir.StringAttr.get(json.dumps(table)),
    }
    older = list(module.attributes[BESIDE]) if BESIDE in module.attributes else []
    module.attributes[BESIDE] = ir.ArrayAttr.get([*older, ir.DictAttr.get(entry)])


def added_results(module: ir.Module) -> list[Added]:
    """What passes added to @main's results, in order; they are its last ones."""
    attribute = module.operation.attributes.get(BESIDE)
    if attribute is None:
        return []
    entries = [ir.DictAttr(each) for each in ir.ArrayAttr(attribute)]
    counts = [ir.IntegerAttr(entry["results"]).value for entry in entries]
    main = functions(module)["main"]
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    at = len(types) - sum(counts)
    found = []
    for entry, count in zip(entries, counts, strict=True):
        table = json.loads(ir.StringAttr(entry["table"]).value)
        found.append(Added(ir.StringAttr(entry["by"]).value, tuple(types[at : at + count]), table))
        at += count
    return found


def own_results(module: ir.Operation) -> list[tuple[str, ir.Value]]:
    """What @main returns of its own, added results left out: each with its name, as JAX has it."""
    main = main_of(module)
    assert main is not None
    values = list(terminator(main.regions[0].blocks[0]).operands)
    values = values[: len(values) - _added_count(module)]
    return [(_result_name(main, index), value) for index, value in enumerate(values)]


def _added_count(module: ir.Operation) -> int:
    entries = module.attributes.get(BESIDE, ())
    return sum(ir.IntegerAttr(ir.DictAttr(entry)["results"]).value for entry in entries)


def _result_name(main: ir.OpView, index: int) -> str:
    if "res_attrs" in main.attributes:
        own = ir.DictAttr(ir.ArrayAttr(main.attributes["res_attrs"])[index])
        if "jax.result_info" in own:
            return ir.StringAttr(own["jax.result_info"]).value
    return f"result[{index}]"


def drop_added_results(module: ir.Operation) -> None:
    """Let @main return its own results alone, and take out what then is computed for nobody."""
    main, count = main_of(module), _added_count(module)
    if main is None or not count:
        return
    block = main.regions[0].blocks[0]
    last = terminator(block)
    with ir.InsertionPoint(last), last.location:
        func.return_(list(last.operands)[:-count])
    last.operation.erase()
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    with module.context:
        type_ = ir.FunctionType.get(kind.inputs, kind.results[:-count])
        main.attributes["function_type"] = ir.TypeAttr.get(type_)
        if "res_attrs" in main.attributes:
            each = list(ir.ArrayAttr(main.attributes["res_attrs"]))
            main.attributes["res_attrs"] = ir.ArrayAttr.get(each[:-count])
    del module.attributes[BESIDE]
    for op in reversed(list(block.operations)[:-1]):
        is_plain = not has_regions(op) or isinstance(op, stablehlo.ReduceOp)
        if is_plain and is_pure(op) and not any(map(is_used, op.results)):
            op.operation.erase()
