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

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.errors import UsageError
from jxc.ir import build
from jxc.ir.labels import Label
from jxc.ir.module import terminator
from jxc.ir.shardings import module_device_count
from jxc.ir.values import shape_of
from jxc.rewrite import File, PassContext, module_pass, remark

from .rematerialize.in_loops import labels_of
from .rematerialize.pairs import LoopPair, WrittenStack, loop_pairs, prepare
from .rematerialize.selectors import parse_plan, parse_words

_NO_FILE = File()
_SECTION = "offload"


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

    On TPUs and GPUs only, and for programs of one device: on a CPU the pass does nothing. Nothing
    is computed differently. An entry that matches no stored value of a loop is an error.
    """
    selectors = parse_plan(plan, _SECTION) if plan.path else parse_words(values)
    if not selectors:
        raise UsageError(
            "offload needs values or a plan, such as offload{values=tanh} or offload{plan=FILE} "
            f"with entries [[{_SECTION}]]"
        )
    if context.target == "cpu":
        remark("offload", "declined", module.location, "a CPU has no memory but the host's")
        return
    if (devices := module_device_count(module)) > 1:
        raise UsageError(f"offload: expected a program of one device, found one of {devices}")
    prepare(module)
    stacks = _labelled(module)
    chosen = []
    for selector in selectors:
        if selector.segments or selector.keep_every:
            raise UsageError(f"offload: {selector}: expected no keys segments and keep_every")
        found = [each for each in stacks if selector.matches(each[2])]
        if not found:
            raise UsageError(
                f"offload: no value that a loop stores for its gradient matches {selector}; values "
                "of straight-line code stay on the device"
            )
        chosen += [each for each in selector.chosen(found) if each not in chosen]
    for pair, index, _ in chosen:
        _keep_on_host(pair, index)
    remark("offload", "applied", module.location, f"{len(chosen)} values are kept on the host")


def _labelled(module: ir.Operation) -> list[tuple[LoopPair, int, Label]]:
    """The stacks that one loop writes and one other reads, with the labels of their values."""
    return [
        (pair, value.index, label)
        for pair in loop_pairs(module)
        for value, label in labels_of(pair).items()
    ]


def _keep_on_host(pair: LoopPair, index: int) -> None:
    stack = pair.stacks[index]
    write = _write_of(pair, stack)
    with ir.InsertionPoint(write), write.location:
        on_host = build.reshape(_placed(stack.value, "pinned_host"), shape_of(stack.update))
    write.operation.operands[1] = on_host
    for read in pair.reads[index]:
        with ir.InsertionPoint.after(read), read.location:
            on_device = _placed(read.result, "device")
        read.result.replace_all_uses_except(on_device, on_device.owner.operation)


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
