"""Why two kernels, one of which reads what the other writes, did not become one."""

from __future__ import annotations

from ....hlo import Instruction
from ....hlo.work import COLLECTIVES, base_opcode
from .barriers import Key, are_parted
from .flow import Source
from .kernel import counted_ops, kind_of

_REDUCTIONS = frozenset(["reduce", "reduce-window"])
_LAYOUT = frozenset(["copy", "transpose"])


class Reasons:
    """Gives the reason for each pair; remembers what it found out about a kernel.

    Args:
        parted: which ops stood on both sides of an optimization barrier.
    """

    def __init__(self, parted: frozenset[tuple[Key, Key]] = frozenset()) -> None:
        self._parted = parted
        self._layout_changes: dict[Instruction, bool] = {}

    def of(self, source: Source, consumer: Instruction, users: int, is_output: bool) -> str:
        """Why two kernels are two, in words: the first that holds.

        Args:
            source: the first kernel, and what lies between it and the second.
            consumer: the second.
            users: how many kernels read the value.
            is_output: whether the program gives the value back.
        """
        both, crossed = (source.producer, consumer), source.crossed
        if "barrier" in crossed or are_parted(*both, self._parted):
            return "an optimization barrier"
        if any(base_opcode(each) in COLLECTIVES for each in both):
            return "a collective"
        for boundary in ("loop", "branch"):
            if boundary in crossed:
                return f"a {boundary}'s boundary"
        if any(map(_is_library, both)):
            return "a library call stands between"
        if any(map(self._is_layout_change, both)):
            return "a layout change (copy/transpose)"
        if any(map(_is_copy, both)):
            return "a copy that keeps a value from being overwritten"
        return _of_the_value(source, users, is_output)

    def _is_layout_change(self, kernel: Instruction) -> bool:
        found = self._layout_changes.get(kernel)
        if found is None:
            ops = counted_ops(kernel)
            found = not _is_copy(kernel) and all(op.opcode in _LAYOUT for op in ops)
            self._layout_changes[kernel] = found
        return found


def _of_the_value(source: Source, users: int, is_output: bool) -> str:
    """The reason that lies in how the value is made and who wants it."""
    if _ends_in_reduction(source):
        return "a reduction ends the fusion"
    if is_output:
        return "the value is an output too"
    if users > 1:
        return f"{users} users"
    return "a move between memories" if "move" in source.crossed else "the compiler decided so"


def _is_library(kernel: Instruction) -> bool:
    """Whether code that XLA did not write runs it.

    A product that stands alone is a library's, but for one whose window a TPU's compiler laid out.
    """
    kind = kind_of(kernel)
    if kind in ("dot", "convolution"):
        return "window_config" not in kernel.attributes.get("backend_config", "")
    return kind in ("library", "call") or kernel.opcode in ("fft", "cholesky", "triangular-solve")


def _is_copy(kernel: Instruction) -> bool:
    """Whether it copies a buffer as it is, into the same layout and type."""
    if kernel.opcode != "copy":
        return False
    before, after = kernel.operands[0].shape, kernel.shape
    return (before.layout, before.element_type) == (after.layout, after.element_type)


def _ends_in_reduction(source: Source) -> bool:
    """Whether the result is reduced in its kernel, whatever is done with it afterwards."""
    fused = source.producer.callee("calls") if source.producer.opcode == "fusion" else None
    if fused is None:
        return source.producer.opcode in _REDUCTIONS
    root = fused.root
    result = root.operands[source.path[-1]] if source.path and root.opcode == "tuple" else root
    seen, left = set(), [result]
    while left:
        each = left.pop()
        inner = each.callee("calls") if each.opcode == "fusion" else None
        if each.opcode in _REDUCTIONS:
            return True
        if each not in seen:
            seen.add(each)
            left.extend(each.operands if inner is None else (*each.operands, inner.root))
    return False
