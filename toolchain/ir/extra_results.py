"""Extra results of @main: how an instrumenting pass returns what it recorded.

A pass such as `locate-nans` appends results to @main (`add_results`) and describes them in an
attribute of the module. `add_loop_values` and `add_branch_results` return values from inside loops
and branches. `extra_results` reads the description; `drop_extra_results` removes the extra results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ..errors import UsageError
from ..files import from_json, parse_json
from .module import has_regions, is_pure, main_of, ops_of, terminator
from .values import is_used

EXTRA_RESULTS = "jxc.extra_results"
"""The module attribute that describes the extra results, with one entry for each pass."""


@dataclass(frozen=True)
class ExtraResults:
    """The results that one pass added to @main, after all others.

    Attributes:
        by: the name of the pass.
        types: the types of the results.
        table: what the results mean, in a format that the pass defines.
    """

    by: str
    types: tuple[ir.Type, ...]
    table: dict[str, Any]


def add_results(
    module: ir.Operation, by: str, values: Sequence[ir.Value], table: dict[str, Any]
) -> None:
    """Make @main return `values` after its own results, and describe them on the module."""
    main = main_of(module)
    assert main is not None
    _return_also(main.regions[0].blocks[0], values, func.return_)
    _set_results(main, [*main.type.results, *(value.type for value in values)])
    entry = {
        "by": ir.StringAttr.get(by),
        "results": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(values)),
        "table": ir.StringAttr.get(json.dumps(table)),
    }
    entries = [*_entries(module), ir.DictAttr.get(entry)]
    module.attributes[EXTRA_RESULTS] = ir.ArrayAttr.get(entries)


def extra_results(module: ir.Module) -> list[ExtraResults]:
    """The extra results of @main by pass, in order.

    Raises:
        UsageError: the attribute of the module is not one of `add_results`.
    """
    main = main_of(module)
    if main is None:
        return []
    try:
        types = iter(list(main.type.results)[-_extra_count(module.operation) :])
        return [
            ExtraResults(
                ir.StringAttr(entry["by"]).value,
                tuple(islice(types, ir.IntegerAttr(entry["results"]).value)),
                _table(ir.StringAttr(entry["table"]).value),
            )
            for entry in _entries(module.operation)
        ]
    except (KeyError, TypeError, ValueError) as error:  # the module is from a file
        raise UsageError(
            f"the attribute {EXTRA_RESULTS} of the module is not one that a pass of jxc wrote: "
            f"{error}; remove it"
        ) from None


def _table(text: str) -> dict[str, Any]:
    table: dict[str, Any] = from_json(Mapping[str, Any], parse_json(text))
    return table


def own_results(module: ir.Operation) -> list[tuple[str, ir.Value]]:
    """The results of @main without the extra ones: each with its name, as JAX writes it."""
    main = main_of(module)
    assert main is not None
    values = list(terminator(main.regions[0].blocks[0]).operands)
    names = [f"result[{index}]" for index in range(len(values))]
    for index, each in enumerate(main.attributes.get("res_attrs", ())):
        if "jax.result_info" in each:
            names[index] = ir.StringAttr(each["jax.result_info"]).value
    return list(zip(names, values, strict=True))[: len(values) - _extra_count(module)]


def _entries(module: ir.Operation) -> list[ir.DictAttr]:
    return [ir.DictAttr(entry) for entry in module.attributes.get(EXTRA_RESULTS, ())]


def _extra_count(module: ir.Operation) -> int:
    return sum(ir.IntegerAttr(entry["results"]).value for entry in _entries(module))


def _set_results(main: ir.OpView, types: Sequence[ir.Type]) -> None:
    """Set the result types of @main, and add or drop result attributes at the end accordingly."""
    kind = ir.FunctionType.get(main.type.inputs, types)
    main.attributes["function_type"] = ir.TypeAttr.get(kind)
    if "res_attrs" in main.attributes:
        kept = list(main.attributes["res_attrs"])[: len(types)]
        added = [ir.DictAttr.get({})] * (len(types) - len(kept))
        main.attributes["res_attrs"] = ir.ArrayAttr.get(kept + added)


def drop_extra_results(module: ir.Operation) -> None:
    """Remove the extra results of @main, and the ops that only they use."""
    main, count = main_of(module), _extra_count(module)
    if main is None or not count:
        return
    block = main.regions[0].blocks[0]
    last = terminator(block)
    with ir.InsertionPoint(last), last.location:
        func.return_(list(last.operands)[:-count])
    last.operation.erase()
    with module.context:
        _set_results(main, main.type.results[:-count])
    del module.attributes[EXTRA_RESULTS]
    for op in reversed(ops_of(block)):
        is_plain = not has_regions(op) or isinstance(op, hlo.ReduceOp)
        if is_plain and is_pure(op) and not any(map(is_used, op.results)):
            op.operation.erase()


# Loops and branches with more results

_SHARDINGS = ("sdy.sharding", "mhlo.sharding")  # one entry for each of the old results


def add_loop_values(
    op: hlo.WhileOp, initial: Sequence[ir.Value], yielded: Sequence[ir.Value]
) -> hlo.WhileOp:
    """Replace `op` by a `while` that carries more values.

    Args:
        op: the loop, erased; the new loop takes over its regions. Its body must have the block
            arguments for the new values already.
        initial: the new values before the first iteration.
        yielded: the new values that the body returns.

    Returns:
        The new loop; its last results are the new ones.
    """
    types = [value.type for value in initial]
    with ir.InsertionPoint(op), op.location:
        new = hlo.WhileOp(
            [*(result.type for result in op.results), *types], [*op.operands, *initial]
        )
    for each in types:
        op.regions[0].blocks[0].add_argument(each, op.location)
    _return_also(op.regions[1].blocks[0], yielded, hlo.return_)
    _replace(op, new)
    return new


def add_branch_results(
    op: hlo.IfOp | hlo.CaseOp, yielded: Sequence[Sequence[ir.Value]]
) -> ir.OpView:
    """Replace `op` by an `if` or `case` that returns more; its last results are the new ones.

    Args:
        op: the branches, erased; the new op takes over its regions.
        yielded: the new values that each branch returns, of the same types in each.
    """
    types = [*(result.type for result in op.results), *(value.type for value in yielded[0])]
    with ir.InsertionPoint(op), op.location:
        if isinstance(op, hlo.IfOp):
            new: ir.OpView = hlo.IfOp(types, op.operands[0])
        else:
            new = hlo.CaseOp(types, op.operands[0], len(op.regions))
    for region, values in zip(op.regions, yielded, strict=True):
        _return_also(region.blocks[0], values, hlo.return_)
    _replace(op, new)
    return new


def _return_also(block: ir.Block, values: Sequence[ir.Value], return_: Any) -> None:
    """Add `values` to the operands of the terminator of `block`."""
    last = terminator(block)
    with ir.InsertionPoint(last), last.location:
        return_([*last.operands, *values])
    last.operation.erase()


def _replace(old: ir.OpView, new: ir.OpView) -> None:
    """Give `new` the regions, the uses and the attributes of `old`, and erase `old`."""
    for name, attribute in old.attributes.items():
        if name not in _SHARDINGS:
            new.attributes[name] = attribute
    for source, target in zip(old.regions, new.regions, strict=True):
        source.blocks[0].append_to(target)
    for before, after in zip(old.results, new.results, strict=False):
        before.replace_all_uses_with(after)
    old.operation.erase()
