"""All-reduces of one array, what is computed from their results, and copies on other operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, splat_attr
from jxc.rewrite.annotations import has_annotation

from .._shared.elementwise import is_used_once, numeric_shape
from .._shared.reduce_body import COMMUTATIVE
from .._shared.region import copy_regions

_DEVICES = ("replica_groups", "channel_handle", "use_global_device_ids")


@dataclass(frozen=True)
class AllReduced:
    """A value that is computed from the all-reduce of one array by ops that commute with it.

    Attributes:
        op: the all-reduce.
        combiner: the op in its body, such as "add".
        then: the ops after it, in order: reshapes and transposes; for sums also products with
            splat constants, quotients by them, and conversions to wider floats.
        value: the result of the last one.
    """

    op: hlo.AllReduceOp
    combiner: str
    then: tuple[ir.OpView, ...]
    value: ir.Value

    @property
    def operand(self) -> ir.Value:
        """The array that is reduced."""
        operand: ir.Value = self.op.operands_[0]
        return operand

    @property
    def key(self) -> tuple[str, ...]:
        """A key that is equal for values that can be combined before they are reduced."""
        devices = (str(self.op.attributes.get(name)) for name in _DEVICES)
        return (self.combiner, str(self.value.type), *devices)

    @property
    def is_widened(self) -> bool:
        """Whether its type is wider than that of the array that the devices exchange."""
        return bool(element_type(self.value) != element_type(self.operand))

    def local(self) -> ir.Value:
        """The value computed from this device's operand alone."""
        value, last = self.operand, self.op.results[0]
        for op in self.then:
            copy = op.operation.clone()
            for index, operand in enumerate(op.operands):
                if operand == last:
                    copy.operands[index] = value
            value, last = copy.results[0], op.results[0]
        return value


def all_reduced(value: ir.Value) -> AllReduced | None:
    """The all-reduce from which `value` is computed; nothing else uses the values between."""
    then: list[ir.OpView] = []
    last = value
    while is_used_once(last) and not isinstance(last.owner, ir.Block):
        op = last.owner
        if isinstance(op, hlo.AllReduceOp):
            combiner = combiner_of_all_reduce(op)
            if combiner is None or not (combiner == "add" or all(map(_is_rearrangement, then))):
                return None
            return AllReduced(op, combiner, (*reversed(then),), value)
        before = None if has_annotation(op) else _commuting_operand(op)
        if before is None:
            return None
        then.append(op)
        last = before
    return None


def _commuting_operand(op: ir.OpView) -> ir.Value | None:
    """The operand of an op that may be applied before a sum over devices."""
    if _is_rearrangement(op):
        return op.operands[0]
    match op:
        case hlo.ConvertOp(operand=x):
            return x if _is_widening(x, op.result) else None
        case hlo.MulOp(lhs=x, rhs=y) | hlo.DivOp(lhs=x, rhs=y):
            if isinstance(op, hlo.MulOp) and splat_attr(x) is not None:
                x, y = y, x
            is_real = isinstance(element_type(x), ir.FloatType)  # quotients of integers round
            return x if is_real and splat_attr(y) is not None else None
    return None


def _is_rearrangement(op: ir.OpView) -> bool:
    return isinstance(op, hlo.ReshapeOp | hlo.TransposeOp)


def _is_widening(x: ir.Value, y: ir.Value) -> bool:
    kinds = element_type(x), element_type(y)
    both = all(isinstance(kind, ir.BF16Type | ir.F16Type | ir.F32Type) for kind in kinds)
    return both and isinstance(kinds[1], ir.F32Type) and kinds[0] != kinds[1]


def combiner_of_all_reduce(op: hlo.AllReduceOp) -> str | None:
    """The op in the body of an all-reduce of one array, one of `COMMUTATIVE`; else None."""
    if len(op.operands_) != 1 or has_annotation(op) or numeric_shape(op.operands_[0]) is None:
        return None
    block = op.regions[0].blocks[0]
    if len(block.operations) != 2 or op.operands_[0].type != op.results[0].type:
        return None
    inner, end = block.operations
    name = inner.operation.name.removeprefix("stablehlo.")
    if name not in COMMUTATIVE or list(end.operands) != list(inner.results):
        return None
    x, y = block.arguments
    is_plain = list(inner.operands) in ([x, y], [y, x])
    return name if is_plain and element_type(x) == element_type(op.operands_[0]) else None


def all_reduce(
    value: ir.Value, over: hlo.AllReduceOp | hlo.AllGatherOp, body: ir.OpView | None = None
) -> ir.Value:
    """The all-reduce of an array.

    Args:
        value: the array.
        over: the collective whose groups of devices exchange it.
        body: an op with the body of the all-reduce, for the element type of `value`; None for sums.
    """
    made = hlo.AllReduceOp(
        [value.type],
        [value],
        over.attributes["replica_groups"],
        channel_handle=over.attributes.get("channel_handle"),
        use_global_device_ids="use_global_device_ids" in over.attributes,
    )
    if body is None:
        scalar = ir.RankedTensorType.get([], element_type(value))
        build.append_combiner(made.regions[0], scalar, hlo.add)
    else:
        copy_regions(body, made)
    result: ir.Value = made.results[0]
    return result


def signed_terms(op: hlo.AddOp | hlo.SubtractOp, sign: int = 1) -> Iterator[tuple[int, ir.Value]]:
    """The terms of a sum, each with 1 or -1; its partial sums are used once."""
    signs = sign, (-sign if isinstance(op, hlo.SubtractOp) else sign)
    for part, each in zip((op.lhs, op.rhs), signs, strict=True):
        inner = part.owner
        is_sum = isinstance(inner, hlo.AddOp | hlo.SubtractOp)
        if is_sum and is_used_once(part) and not has_annotation(inner):
            yield from signed_terms(inner, each)
        else:
            yield each, part


def add_terms(terms: list[tuple[int, ir.Value]]) -> ir.Value:
    """The sum of signed terms; it starts with a positive one if there is one."""
    (sign, total), *others = sorted(terms, key=lambda term: -term[0])
    total = total if sign > 0 else hlo.negate(total)
    for sign, value in others:
        total = (hlo.add if sign > 0 else hlo.subtract)(total, value)
    return total
