"""Build the loop over the parts of the batch, and move after it what uses its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.module import ops_of, terminator, walk
from jxc.ir.values import element_type, is_float, is_used, shape_of

from .._shared.region import has_effects
from .analysis import Analysis, reads_of
from .emit import Emitter
from .states import SAME, Parted, Partial, Plain, neutral


def build_loop(analysis: Analysis) -> None:
    """Rewrite the block of @main by an analysis that refused nothing."""
    block = analysis.block
    end = terminator(block)
    after = [op for op in ops_of(block) if _is_after(analysis, op)]
    outputs = _outputs(analysis, [*after, end])
    if not outputs:
        return
    with ir.InsertionPoint(end), end.location:
        initial = [_initial(analysis, value) for value in outputs]
        loop = build.fori_loop(analysis.parts, initial, _body(analysis, outputs))
        results = {
            value: build.convert(found, element_type(value))
            for value, found in zip(outputs, loop, strict=True)
        }
    _erase_unused(loop[0].owner.regions[1].blocks[0])
    for op in after:
        op.operation.move_before(end)
    for op in (*after, end):
        _replace_operands(op, results)
    _erase_unused(block)


def _is_after(analysis: Analysis, op: ir.OpView) -> bool:
    if len(op.results):
        return analysis.of(op.results[0]) is Plain.AFTER
    return any(analysis.of(value) is not Plain.BEFORE for value in reads_of(op))


def _outputs(analysis: Analysis, readers: Sequence[ir.OpView]) -> list[ir.Value]:
    """The values of the loop that are read after it; an argument is whole already."""
    found = dict.fromkeys(value for op in readers for value in reads_of(op))
    return [
        value
        for value in found
        if (isinstance(analysis.of(value), Parted | Partial) or analysis.of(value) is SAME)
        and not isinstance(value.owner, ir.Block)
    ]


def _accumulated(analysis: Analysis, value: ir.Value) -> ir.Type:
    """The element type in which a value is accumulated: sums of 16-bit floats in f32."""
    element = element_type(value)
    is_sum = analysis.of(value) == Partial("add") and is_float(value)
    is_narrow = is_sum and ir.FloatType(element).width < 32
    return ir.F32Type.get() if is_narrow else element


def _initial(analysis: Analysis, value: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType.get(shape_of(value), _accumulated(analysis, value))
    state = analysis.of(value)
    return build.constant(
        neutral(state.combine, kind.element_type) if isinstance(state, Partial) else 0, kind
    )


def _body(
    analysis: Analysis, outputs: Sequence[ir.Value]
) -> Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]:
    def body(counter: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        emitter = Emitter(analysis, counter, analysis.block)
        emitter.run()
        return [
            _combined(analysis, emitter, value, before)
            for value, before in zip(outputs, carried, strict=True)
        ]

    return body


def _combined(analysis: Analysis, emitter: Emitter, value: ir.Value, before: ir.Value) -> ir.Value:
    """The accumulated value after an iteration."""
    state = analysis.of(value)
    now = emitter.get(value, state)
    if isinstance(state, Partial):
        return build.elementwise_op(state.combine, before, build.convert(now, element_type(before)))
    if not isinstance(state, Parted):
        return now
    first = emitter.first_row(shape_of(now)[state.dim])
    return hlo.dynamic_update_slice(before, now, build.starts_along(before, {state.dim: first}))


def _replace_operands(op: ir.OpView, results: dict[ir.Value, ir.Value]) -> None:
    for each in dict.fromkeys((op.operation, *(inner.operation for inner in walk(op)))):
        for at, value in enumerate(each.operands):
            if value in results:
                each.operands[at] = results[value]


def _erase_unused(block: ir.Block) -> None:
    """Erase the ops whose results are not used and that have no effects."""
    names = ("stablehlo.optimization_barrier", "sdy.sharding_constraint")
    for op in reversed(list(block.operations)):
        if not len(op.results) or any(map(is_used, op.results)):
            continue
        if op.operation.name in names or not has_effects(op):
            op.operation.erase()
