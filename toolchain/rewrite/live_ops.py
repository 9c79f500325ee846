"""Which ops of a module still exist while a driver erases ops.

The bindings make a new Python object each time an op is read, and an object of an erased op points
to freed memory: `LiveOps` says which objects may still be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from jaxlib.mlir import ir

from ..ir import has_regions, walk

Handle: TypeAlias = tuple[ir.OpView, int, int]
"""An op, the address of its results, and its number among the ops at that address."""


class LiveOps:
    """The ops that exist: they decide whether a handle may still be used.

    An op is identified by the address of its results. After it is erased, another op may get that
    address, so each op also has a number.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {_NO_RESULTS: 0}
        self._count = 0
        self._added: list[Sequence[ir.OpView]] = []

    def add(self, ops: Sequence[ir.OpView]) -> None:
        """List ops for `register`, which is not called in passes that build no rewrite."""
        self._added.append(ops)

    def register(self) -> None:
        """Register the ops that were added. This must be done before any op is erased."""
        for ops in self._added:
            for op in ops:
                self.handle(op)
        self._added.clear()

    def is_registered(self, op: ir.OpView) -> bool:
        """Whether `op` is registered, or has a handle."""
        return _address(op) in self._numbers

    def handle(self, op: ir.OpView) -> Handle:
        """A handle on `op`, which exists."""
        address = _address(op)
        number = self._numbers.get(address)
        if number is None:
            self._count += 1
            number = self._numbers[address] = self._count
        return op, address, number

    def has(self, handle: Handle) -> bool:
        """Whether the op of `handle` still exists."""
        return self._numbers.get(handle[1]) == handle[2]

    def erase(self, handle: Handle) -> None:
        """Erase an unused op and the ops inside it."""
        op, address, _ = handle
        for inner in walk(op) if has_regions(op) else ():
            if (inner_address := _address(inner)) != _NO_RESULTS:
                self._numbers.pop(inner_address, None)
        del self._numbers[address]
        op.operation.erase()


_NO_RESULTS = 0  # the address of ops without results or regions: no rule replaces or builds these


def _address(op: ir.OpView) -> int:
    """The address of the first result of `op`, or of its first block if it has no results.

    The hash of an op depends on its contents, so it does not identify the op.
    """
    if len(results := op.results):
        return hash(results[0])
    blocks = list(op.regions[0].blocks) if has_regions(op) else []
    return hash(blocks[0]) if blocks else _NO_RESULTS
