"""The kernels that computed a value, through tuples, loops, branches, calls and copies.

A value of a loop may come from before the loop or from the last iteration, a value of a conditional
from any branch, so there may be several kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..hlo import Computation, Instruction, Module
from ..hlo.work import is_control, is_free

Path = tuple[int, ...]


@dataclass(frozen=True)
class KernelResult:
    """A result of a kernel.

    Attributes:
        producer: the kernel's instruction.
        path: the index of the result, if there are several: the innermost index last.
        crossed: the boundaries between it and its reader: "loop", "branch", "barrier", or "move"
            for a copy between main memory and memory on the chip.
    """

    producer: Instruction
    path: Path
    crossed: frozenset[str] = frozenset()


def is_move(instruction: Instruction) -> bool:
    """Whether an instruction only copies a value from one memory to another, asynchronously."""
    return instruction.opcode in ("copy-start", "slice-start", "dynamic-slice-start")


class Dataflow:
    """Finds the kernels that computed the values of a module."""

    def __init__(self, module: Module) -> None:
        self._module = module

    @cached_property
    def _callers(self) -> dict[Computation, list[Instruction]]:
        found: dict[Computation, list[Instruction]] = {}
        for computation in self._module.computations.values():
            for instruction in computation.instructions:
                if is_control(instruction):
                    for callee in instruction.called:
                        found.setdefault(callee, []).append(instruction)
        return found

    def sources(self, value: Instruction, path: Path = ()) -> list[KernelResult]:
        """The kernels that a value may come from; none for arguments and constants."""
        found: dict[KernelResult, None] = {}
        visited = set()
        left = [KernelResult(value, path)]
        while left:
            each = left.pop()
            if (each.producer, each.path) in visited:
                continue
            visited.add((each.producer, each.path))
            if is_free(each.producer) or is_control(each.producer) or is_move(each.producer):
                left.extend(self._behind(each))
            else:
                found[each] = None
        return list(found)

    def outputs(self) -> set[tuple[Instruction, Path]]:
        """The results of kernels that the program returns."""
        root = self._module.entry.root
        given = range(len(root.shape.parts)) if root.shape.is_tuple else ()
        paths: list[Path] = [(number,) for number in given] or [()]
        found = (source for path in paths for source in self.sources(root, path))
        return {(source.producer, source.path) for source in found}

    def _behind(self, source: KernelResult) -> Iterator[KernelResult]:
        """One step back, from an instruction that is not a kernel."""
        value, path, crossed = source.producer, source.path, source.crossed
        opcode = value.opcode
        if opcode == "parameter":
            yield from self._arguments(source)
        elif opcode == "get-tuple-element":
            yield KernelResult(value.operands[0], (*path, int(value.attributes["index"])), crossed)
        elif opcode == "tuple":
            picked = [value.operands[path[-1]]] if path else value.operands
            for operand in picked:
                yield KernelResult(operand, path[:-1], crossed)
        elif opcode == "while":
            body = value.callee("body")
            if body is not None:
                yield KernelResult(body.root, path, crossed | {"loop"})
        elif opcode in ("conditional", "call", "async-start"):
            through = crossed | {"branch"} if opcode == "conditional" else crossed
            for callee in value.called:
                yield KernelResult(callee.root, path, through)
        elif is_move(value) or opcode == "opt-barrier":
            through = crossed | {"move" if is_move(value) else "barrier"}
            yield KernelResult(value.operands[0], path, through)
        else:  # a bitcast, a `-done`, a custom call that does nothing
            for operand in value.operands:
                yield KernelResult(operand, path, crossed)

    def _arguments(self, source: KernelResult) -> Iterator[KernelResult]:
        """The arguments that a computation is called with."""
        parameter, path, crossed = source.producer, source.path, source.crossed
        for caller in self._callers.get(parameter.computation, ()):
            if caller.opcode == "while":
                yield KernelResult(caller.operands[0], path, crossed | {"loop"})
                yield from self._behind(KernelResult(caller, path, crossed))
            elif caller.opcode == "conditional":
                which = caller.called.index(parameter.computation)
                yield KernelResult(caller.operands[which + 1], path, crossed | {"branch"})
            else:
                yield KernelResult(caller.arguments[int(parameter.literal)], path, crossed)
