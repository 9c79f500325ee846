"""Values that are written to memory although they hold nothing new: broadcasts, transposes, and
gathers that are slices.

Broadcasts and transposes are read from the kernels of the compiled program, since XLA fuses most of
them. A kernel in a loop counts once for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....compiled.dataflow import Dataflow
from ....compiled.kernels import Kernel, counted_ops
from ....hlo import Instruction
from ....ir import op_names
from ....source import SourceLine
from ....units import show_bytes, show_count
from ..finding import Finding, FindingCost, check, compiled_check
from ..program import ExaminedProgram
from ..thresholds import MIN_BYTES, MIN_TIME_SHARE, MIN_WIDENED_BYTES

_RENAMES = ("bitcast", "reshape", "convert", "copy", "transpose")
_IN_PLACE = ("while", "tuple", "conditional", "call", "dynamic-update-slice", "scatter")
_MIN_GATHER_TIME_SHARE = 0.01  # gathers run far below the roofline, one element at a time
_MIN_GROWTH = 4  # times as many elements as before the broadcast


@compiled_check
def materialized_broadcast(program: ExaminedProgram) -> Iterator[Finding]:
    """Broadcasts of 1 MiB or more that XLA writes to memory, instead of reading the small operand.

    This happens if a library call or another op that does not fuse reads the broadcast. A result,
    or a value that is updated in place afterwards, must be written and is left alone.
    """
    for place, kernel, cost in _by_line(program, _is_materialized_broadcast):
        yield Finding(
            place,
            f"a broadcast to {kernel.instruction.shape}, {_size(kernel)}, is written to memory for "
            f"{_readers(kernel.instruction)} to read",
            "Let the reader broadcast: jnp.einsum or dot_general without the repeated dimension, "
            "or vmap with in_axes=None for what all share.",
            cost,
        )


def _size(kernel: Kernel) -> str:
    size = show_bytes(kernel.instruction.shape.bytes)
    return f"{size} in each of {show_count(kernel.times)} runs" if kernel.times > 1 else size


def _is_large(kernel: Kernel) -> bool:
    return kernel.instruction.shape.bytes * kernel.times >= MIN_BYTES


def _is_materialized_broadcast(kernel: Kernel) -> bool:
    broadcast = _final_broadcast(kernel.instruction)
    if broadcast is None or not _is_large(kernel):
        return False
    if any(user.opcode in _IN_PLACE for user in _users(kernel.instruction)):
        return False
    source = broadcast.operands[0].shape
    return source.elements > 1 and broadcast.shape.elements >= _MIN_GROWTH * source.elements


def _final_broadcast(instruction: Instruction) -> Instruction | None:
    """The broadcast that a kernel ends with; None if it computes something afterwards."""
    last = instruction.fused.root if instruction.fused else instruction
    while last.opcode in _RENAMES:
        last = last.operands[0]
    return last if last.opcode == "broadcast" else None


def _users(instruction: Instruction) -> list[Instruction]:
    """The instructions that read a kernel's result, bitcasts and tuples followed."""
    found = []
    for user in instruction.users:
        found += _users(user) if user.opcode in ("bitcast", "get-tuple-element") else [user]
    return found


def _readers(instruction: Instruction) -> str:
    users = _users(instruction)
    names = {user.op_name.rpartition("/")[2] or user.opcode for user in users}
    return " and ".join(sorted(names)[:2]) or "others"


@compiled_check
def transpose_copy(program: ExaminedProgram) -> Iterator[Finding]:
    """Transposes of 1 MiB or more that become copies in the compiled program.

    Most transposes cost nothing, since the op that reads the value reads it in another order. If a
    library call or a loop needs the value in its own memory layout, all of it is copied. A result
    that is transposed must be copied, and is left alone.
    """
    for place, kernel, cost in _by_line(program, _is_transposed):
        yield Finding(
            place,
            f"a transpose to {kernel.instruction.shape} becomes a copy of {_size(kernel)} for "
            f"{_readers(kernel.instruction)}",
            "Keep the dimensions in one order, or pass the order to the op that reads: jnp.einsum "
            "and lax.dot_general accept any.",
            cost,
        )


def _is_transposed(kernel: Kernel) -> bool:
    if not _is_large(kernel):
        return False
    ops = counted_ops(kernel.instruction)
    if any(op.opcode not in ("transpose", "copy") for op in ops):
        return False
    return any(op.op_name.rpartition("/")[2] == "transpose" for op in (*ops, kernel.instruction))


def _by_line(
    program: ExaminedProgram, is_wanted: Callable[[Kernel], bool]
) -> Iterator[tuple[SourceLine | None, Kernel, FindingCost]]:
    """Lines with wanted kernels, the kernel that moves the most, and the cost of all of them.

    Kernels that write results of the program, and lines without a share of its time, are left out.
    """
    outputs = _outputs(program)
    groups: dict[SourceLine | None, list[Kernel]] = {}
    for kernel in program.compiled.kernels:
        if kernel.instruction not in outputs and is_wanted(kernel):
            groups.setdefault(kernel.lines[0] if kernel.lines else None, []).append(kernel)
    device, least = program.target.device, MIN_TIME_SHARE * program.compiled.roofline_seconds
    for place, group in groups.items():
        seconds = sum(each.roofline(device).seconds * each.times for each in group)
        if seconds >= least:
            moved = sum(each.traffic.total * each.times for each in group)
            how = f"in one run, by the roofline of {program.target.name}"
            largest = max(group, key=lambda each: each.traffic.total * each.times)
            yield place, largest, FindingCost(moved, seconds, how=how)


def _outputs(program: ExaminedProgram) -> set[Instruction]:
    """The kernels that write results of the program, directly or through copies."""
    flow = Dataflow(program.compiled.module)
    pending = list(flow.outputs())
    found: set[Instruction] = set()
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            if all(op.opcode in ("copy", "transpose") for op in counted_ops(each)):
                pending += [source for value in each.operands for source in flow.sources(value)]
    return found


@check
def gather_as_slice(program: ExaminedProgram) -> Iterator[Finding]:
    """Gathers whose indices are a constant arithmetic sequence. A slice does the same.

    Indexing with an array is a gather, even if the array is jnp.arange. XLA reads and checks the
    indices one by one, where a slice fuses with the ops around it.
    """
    if "stablehlo.gather" not in op_names(program.module):
        return
    found: dict[tuple[SourceLine | None, str], float] = {}
    for hit in program.hits:
        if hit.rule == "gather-of-affine-indices" and hit.result_bytes >= MIN_WIDENED_BYTES:
            key = hit.place, hit.library
            found[key] = found.get(key, 0) + hit.bytes
    compiled = program.compiled_or_none
    least = _MIN_GATHER_TIME_SHARE * compiled.roofline_seconds if compiled else 0.0
    for (place, library), moved in found.items():
        seconds = program.seconds_of(moved)
        if (seconds or 0.0) >= least:
            yield Finding(
                place,
                f"the indices of this gather are an arithmetic sequence{library}: it is a slice",
                "Write x[start:stop:step], or jax.lax.slice; x[:, ::-1] reverses. `jxc.jit` "
                "rewrites it too.",
                FindingCost(moved, seconds, how="moved in one run, at best"),
            )
