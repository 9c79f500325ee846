"""Keep values that a scan's gradient stores in the memory of the host.

The forward loop of a scan's gradient stores values for the backward loop, which take most of the
memory of many training steps. This pass marks them as JAX marks the values of
`jax.checkpoint_policies.save_and_offload_only_these_names`: XLA for TPUs and GPUs keeps the stack
on the host, and copies a row in each iteration while it computes.

Values of straight-line code stay on the device. There XLA copies them back as soon as they are on
the host, so that the peak does not fall: 6 layers with 768 MiB of such values took 1411 MiB instead
of 962 MiB on a v5e, and 1728 MiB as before on an H100 (jax 0.10.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.errors import UsageError
from jxc.ir import build
from jxc.ir.labels import Label, label_of
from jxc.ir.module import terminator
from jxc.ir.shardings import module_device_count
from jxc.ir.values import shape_of
from jxc.rewrite import File, PassContext, module_pass, remark

from .rematerialize.pairs import LoopPair, StackedValue, WrittenStack, loop_pairs, prepare
from .rematerialize.selectors import parse_options

_NO_FILE = File()


@module_pass
def offload(
    module: ir.Operation, context: PassContext, *, values: str = "", plan: File = _NO_FILE
) -> None:
    """Keep chosen values that a loop stores for the loop of its gradient in the host's memory.

    `values` has words separated by commas, each of which chooses the values of a JAX primitive
    (`tanh`), of a Python function (`mlp`) or of a line (`model.py:42`). `plan` is a file whose
    entries `[[offload]]` choose values as those of `rematerialize` do:

        [[offload]]
        op = "tanh"
        function = "mlp"
        text = "h = jnp.tanh(x @ w)"

    A carried value, as it is at the start of an iteration, is chosen by the op that computes it in
    the iteration before. Name the pass after `rematerialize`, which changes what loops store.

    On TPUs and GPUs only, and for programs of one device: on a CPU the pass does nothing. Nothing
    is computed differently. An entry that matches no stored value of a loop is an error.
    """
    selectors = parse_options("offload", values, plan)
    if context.target == "cpu":
        remark("offload", "declined", module.location, "a CPU has no memory but the host's")
        return
    if (devices := module_device_count(module)) > 1:
        raise UsageError(f"offload: expected a program of one device, found one of {devices}")
    prepare(module)
    stacks = stored_values(module)
    chosen = []
    for selector in selectors:
        if selector.segments or selector.keep_every:
            raise UsageError(f"offload: {selector}: expected no keys segments and keep_every")
        found = [each for each in stacks if selector.matches(each.label)]
        if not found:
            raise UsageError(
                f"offload: no value that a loop stores for its gradient matches {selector}; values "
                "of straight-line code stay on the device"
            )
        chosen += [each for each in selector.chosen(found) if each not in chosen]
    for each in chosen:
        _keep_on_host(each.pair, each.value.index)
    remark("offload", "applied", module.location, f"{len(chosen)} values are kept on the host")


@dataclass(frozen=True)
class StoredValue:
    """A value that one loop stores for one other loop.

    Attributes:
        pair: the loops.
        value: which it is.
        label: where it was written.
    """

    pair: LoopPair
    value: StackedValue
    label: Label


def stored_values(module: ir.Operation) -> list[StoredValue]:
    """The values that `offload` can move, of a module after `prepare`."""
    return [
        StoredValue(pair, value, label)
        for pair in loop_pairs(module)
        for value in pair.stacked
        if (label := _label(pair, value.value)) is not None
    ]


def _label(pair: LoopPair, value: ir.Value) -> Label | None:
    """The label of the op that computes a value, of a carried one in the iteration before."""
    loop, seen = pair.forward, set[ir.Value]()
    while value in loop.arguments and value not in seen:
        seen.add(value)
        value = loop.ends[loop.arguments[value]]
    return label_of(value.owner) if value in loop.position else None


def _keep_on_host(pair: LoopPair, index: int) -> None:
    stack = pair.stacks[index]
    write = _write_of(pair, stack)
    with ir.InsertionPoint(write), write.location:
        on_host = build.reshape(_placed(stack.value, "pinned_host"), shape_of(stack.update))
    write.operation.operands[1] = on_host
    first, *others = pair.reads[index]  # of the same row, which is copied back once
    with ir.InsertionPoint.after(first), first.location:
        on_device = _placed(first.result, "device")
    first.result.replace_all_uses_except(on_device, on_device.owner.operation)
    for read in others:
        read.result.replace_all_uses_with(on_device)
        read.operation.erase()


def _write_of(pair: LoopPair, stack: WrittenStack) -> hlo.DynamicUpdateSliceOp:
    write = terminator(pair.forward.body).operands[stack.index].owner
    assert isinstance(write, hlo.DynamicUpdateSliceOp)
    return write


def _placed(value: ir.Value, memory: str) -> ir.Value:
    """A value in a memory of the device or its host, in the form that JAX emits."""
    call = hlo.CustomCallOp(
        [value.type],
        [value],
        "annotate_device_placement",
        has_side_effect=ir.BoolAttr.get(True),
        backend_config=ir.StringAttr.get(""),
    )
    placement = {"_xla_buffer_placement": ir.StringAttr.get(memory)}
    call.operation.attributes["mhlo.frontend_attributes"] = ir.DictAttr.get(placement)
    result: ir.Value = call.results[0]
    return result
