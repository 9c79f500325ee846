"""Small changes to a module in place, of which the strategies are made.

An op that was erased must not be touched again, not even compared: read what is needed before.
Erase from the last op to the first, so that users go before what they use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ..ir import functions, walk
from ..ir.build import splat
from ..ir.module import has_side_effect, terminator
from ..ir.values import is_complex, is_used, splat_of
from ..pipeline.native import run_native
from .modules import sync_type

_ALIAS = "tf.aliasing_output"
_KEPT = ("func.call", "sdy.mesh")


class NotApplicable(Exception):
    """The edit does not apply to this module: there is no candidate."""


def entry(module: ir.Module) -> func.FuncOp:
    """@main, or else the first function that has a body."""
    found = [op for op in functions(module).values() if len(op.regions[0].blocks)]
    if not found:
        raise NotApplicable
    named = [op for op in found if ir.StringAttr(op.attributes["sym_name"]).value == "main"]
    return (named or found)[0]


def body(function: ir.OpView) -> ir.Block:
    """The function's one block."""
    return function.regions[0].blocks[0]


def zero(kind: ir.Type, number: int = 0) -> ir.Value:
    """A splat of 0 or 1 of type `kind` at the insertion point.

    Raises:
        NotApplicable: that type has no such constant.
    """
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise NotApplicable
    element = kind.element_type
    if isinstance(element, ir.ComplexType):
        return hlo.constant(ir.Attribute.parse(f"dense<({number}.0, 0.0)> : {kind}"))
    if not isinstance(element, ir.IntegerType | ir.FloatType):
        raise NotApplicable
    return splat(number, kind)


def add_argument(function: ir.OpView, kind: ir.Type) -> ir.Value:
    """One more argument, at the end."""
    value = body(function).add_argument(kind, ir.Location.unknown())
    _append(function, "arg_attrs")
    sync_type(function)
    return value


def keep_arguments(function: ir.OpView, kept: Sequence[int]) -> None:
    """Drop the arguments that are not `kept`; nothing may use them."""
    block = body(function)
    for index in reversed(range(len(block.arguments))):
        if index not in kept:
            block.erase_argument(index)
    _select(function, "arg_attrs", kept)
    sync_type(function)


def set_outputs(function: ir.OpView, kept: Sequence[int], added: Sequence[ir.Value] = ()) -> None:
    """Return the old outputs with the indices `kept`, and then `added`."""
    old = terminator(body(function))
    values = [old.operands[index] for index in kept]
    with ir.InsertionPoint(old):
        func.ReturnOp([*values, *added])
    old.operation.erase()
    _select(function, "res_attrs", kept)
    for _ in added:
        _append(function, "res_attrs")
    _renumber_aliases(function, kept)
    sync_type(function)


def remove_dead(module: ir.Module) -> None:
    """Erase ops whose results are unused, and private functions that are not called."""
    for op in reversed(list(walk(module.operation))):
        if op.operation.name in _KEPT or has_side_effect(op):
            continue
        if len(op.results) and not any(map(is_used, op.results)):
            op.operation.erase()
    if len(module.body.operations) > 1:
        run_native("symbol-dce", module)


def values_used_by(ops: Iterable[ir.OpView]) -> list[ir.Value]:
    """The operands of ops and of what is inside them, each once."""
    return list(
        dict.fromkeys(value for op in ops for each in (op, *walk(op)) for value in each.operands)
    )


def _each(function: ir.OpView, key: str) -> list[ir.Attribute] | None:
    return list(ir.ArrayAttr(function.attributes[key])) if key in function.attributes else None


def _select(function: ir.OpView, key: str, kept: Sequence[int]) -> None:
    if (each := _each(function, key)) is not None:
        function.attributes[key] = ir.ArrayAttr.get([each[index] for index in kept])


def _append(function: ir.OpView, key: str) -> None:
    if (each := _each(function, key)) is not None:
        function.attributes[key] = ir.ArrayAttr.get([*each, ir.DictAttr.get({})])


def _renumber_aliases(function: ir.OpView, kept: Sequence[int]) -> None:
    """Update the arguments' `tf.aliasing_output` to the new indices of the outputs."""
    i32 = ir.IntegerType.get_signless(32)
    changed = []
    for each in _each(function, "arg_attrs") or []:
        entries = {named.name: named.attr for named in ir.DictAttr(each)}
        if _ALIAS in entries:
            index = ir.IntegerAttr(entries.pop(_ALIAS)).value
            if index in kept:
                entries[_ALIAS] = ir.IntegerAttr.get(i32, list(kept).index(index))
        changed.append(ir.DictAttr.get(entries))
    if changed:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(changed)


def untidiness(module: ir.Module) -> int:
    """The sum over the module's constants of how far each is from a repeated zero."""
    found = (op for op in walk(module.operation) if isinstance(op, hlo.ConstantOp))
    return sum(distance_from_zero(op) for op in found)


def distance_from_zero(op: hlo.ConstantOp) -> int:
    """0 for a constant that repeats zero, 1 for ones, 2 for another number, 3 for several."""
    if is_complex(op.result):
        return 0  # the bindings cannot read the elements
    number = splat_of(op.result)
    if number is None:
        return 3
    if number == 0:
        return 0
    return 1 if number == 1 else 2
