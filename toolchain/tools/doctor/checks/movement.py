"""Values that are written to memory though nothing new is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hlo import Instruction
from ....ir import op_names
from ....source import SourceLine
from ....units import show_bytes
from ...report.kernels import Kernel
from ...report.kernels.flow import Flow
from ...report.kernels.kernel import counted_ops
from ..finding import Cost, Finding
from ..program import Program
from ..registry import check, compiled_check
from ..thresholds import LEAST_BYTES, LEAST_SHARE, LEAST_SHARE_OF_GATHERS, LEAST_WIDENED

_RENAMES = ("bitcast", "reshape", "convert", "copy", "transpose")
_KEPT = ("while", "tuple", "conditional", "call", "dynamic-update-slice", "scatter")
_LEAST_GROWTH = 4  # times as many bytes as were spread


@dataclass(frozen=True)
class _Moved:
    """Kernels of one line that only move data.

    Attributes:
        kernel: the one that moves the most.
        bytes: that all of them move in one run.
        seconds: that this takes at least.
    """

    kernel: Kernel
    bytes: float
    seconds: float


@compiled_check
def materialized_broadcast(program: Program) -> Iterator[Finding]:
    """Broadcasts that XLA writes to memory, 1 MiB and more, instead of reading the small one.

    Where a library's product or another op that does not fuse reads it. What is the result, or is
    updated in place afterwards, must be written and is left alone.
    """
    for place, moved in _by_line(program, _is_spread).items():
        shape = moved.kernel.instruction.shape
        yield Finding(
            place,
            f"a broadcast to {shape}, {show_bytes(shape.bytes)}, is written to memory for "
            f"{_readers(moved.kernel.instruction)} to read",
            "Let the reader do it: jnp.einsum or dot_general without the repeated dimension, or "
            "vmap with in_axes=None for what all share.",
            _cost(program, moved),
        )


def _is_spread(kernel: Kernel) -> bool:
    spread = _spread(kernel.instruction)
    if spread is None or spread.shape.bytes < LEAST_BYTES:
        return False
    if any(user.opcode in _KEPT for user in _users(kernel.instruction)):
        return False
    source = spread.operands[0].shape
    return source.elements > 1 and spread.shape.elements >= _LEAST_GROWTH * source.elements


def _spread(instruction: Instruction) -> Instruction | None:
    """The broadcast that a kernel ends in; None where something is computed after it."""
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    last = fused.root if fused else instruction
    while last.opcode in _RENAMES:
        last = last.operands[0]
    return last if last.opcode == "broadcast" else None


def _users(instruction: Instruction) -> list[Instruction]:
    """Who reads a kernel's result, seen through what only renames it."""
    found = []
    for user in instruction.users:
        found += _users(user) if user.opcode in ("bitcast", "get-tuple-element") else [user]
    return found


def _readers(instruction: Instruction) -> str:
    names = {_name_of(user) for user in _users(instruction)}
    return " and ".join(sorted(names)[:2]) or "others"


def _name_of(user: Instruction) -> str:
    return user.op_name.rpartition("/")[2] or user.opcode


@compiled_check
def transpose_copy(program: Program) -> Iterator[Finding]:
    """Transposes of 1 MiB and more that become copies in the compiled program.

    Most transposes cost nothing: what reads the value reads it in another order. Where a library or
    a loop wants it in the order of memory, all of it is copied. A result that is transposed must
    be, and is left alone.
    """
    for place, moved in _by_line(program, _is_transposed).items():
        kernel = moved.kernel
        yield Finding(
            place,
            f"a transpose to {kernel.instruction.shape} becomes a copy of "
            f"{show_bytes(kernel.instruction.shape.bytes)} for {_readers(kernel.instruction)}",
            "Keep the dimensions in one order, or name them to the op that reads: jnp.einsum and "
            "lax.dot_general take them in any.",
            _cost(program, moved),
        )


def _is_transposed(kernel: Kernel) -> bool:
    if kernel.instruction.shape.bytes < LEAST_BYTES:
        return False
    ops = counted_ops(kernel.instruction)
    if any(op.opcode not in ("transpose", "copy") for op in ops):
        return False
    return any(op.op_name.rpartition("/")[2] == "transpose" for op in (*ops, kernel.instruction))


def _by_line(program: Program, is_wanted: object) -> dict[SourceLine | None, _Moved]:
    """The kernels that matter, by line: no results of the program, and a share of its time."""
    outputs = _outputs(program)
    groups: dict[SourceLine | None, list[Kernel]] = {}
    for kernel in program.compiled.kernels:
        if kernel.instruction not in outputs and is_wanted(kernel):  # type: ignore[operator]
            groups.setdefault(_place(kernel), []).append(kernel)
    moved = {place: _moved(program, group) for place, group in groups.items()}
    least = LEAST_SHARE * program.compiled.roofline_seconds
    return {place: each for place, each in moved.items() if each.seconds >= least}


def _outputs(program: Program) -> set[Instruction]:
    """The kernels that write results of the program, those included that are only copied to one."""
    flow = Flow(program.compiled.module)
    pending = [producer for producer, _ in flow.outputs()]
    found: set[Instruction] = set()
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            if all(op.opcode in ("copy", "transpose") for op in counted_ops(each)):
                pending += [s.producer for value in each.operands for s in flow.sources(value)]
    return found


def _place(kernel: Kernel) -> SourceLine | None:
    return kernel.lines[0] if kernel.lines else None


def _moved(program: Program, kernels: list[Kernel]) -> _Moved:
    largest = max(kernels, key=lambda kernel: kernel.traffic.total * kernel.times)
    device = program.target.device
    return _Moved(
        largest,
        sum(kernel.traffic.total * kernel.times for kernel in kernels),
        sum(kernel.roofline(device).seconds * kernel.times for kernel in kernels),
    )


def _cost(program: Program, moved: _Moved) -> Cost:
    how = f"in one run, by the roofline of {program.target.name}"
    return Cost(bytes=moved.bytes, seconds=moved.seconds, how=how)


@check
def gather_as_slice(program: Program) -> Iterator[Finding]:
    """Gathers whose indices are known and count evenly: slices, which fuse and are not looked up.

    An index array in brackets is a gather though it is jnp.arange: XLA reads the indices one by
    one, and checks each.
    """
    if "stablehlo.gather" not in op_names(program.module):
        return
    found: dict[tuple[SourceLine | None, str], float] = {}
    for hit in program.hits:
        if hit.rule == "gather-of-progression" and hit.result_bytes >= LEAST_WIDENED:
            key = hit.place, hit.library
            found[key] = found.get(key, 0) + hit.bytes
    compiled = program.compiled_or_none
    least = LEAST_SHARE_OF_GATHERS * compiled.roofline_seconds if compiled else 0.0
    for (place, library), moved in found.items():
        if (program.seconds_of(moved) or 0.0) < least:
            continue
        yield Finding(
            place,
            f"a gather whose indices count evenly{library}: a slice",
            "Write x[start:stop:step], or jax.lax.slice; x[:, ::-1] runs backwards. `jxc.jit` "
            "rewrites it too.",
            Cost(bytes=moved, seconds=program.seconds_of(moved), how="moved in one run, at best"),
        )
