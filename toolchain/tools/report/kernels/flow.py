"""Which kernel's result a value is, seen through tuples, loops, branches and calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....hlo import Computation, Instruction, Module
from ....hlo.work import is_control, is_free

Path = tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """A result of a kernel.

    Attributes:
        producer: the kernel's instruction.
        path: which of its results, if it gives several: the innermost index last.
        crossed: what lies on the way to the reader: "loop", "branch", "barrier", or "move",
            between the main memory and one on the chip.
    """

    producer: Instruction
    path: Path
    crossed: frozenset[str] = frozenset()


def is_move(instruction: Instruction) -> bool:
    """Whether it only moves a value from one memory to another, beside what else runs."""
    return instruction.opcode in ("copy-start", "slice-start", "dynamic-slice-start")


class Flow:
    """Where the values of a module come from."""

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

    def sources(self, value: Instruction, path: Path = ()) -> list[Source]:
        """The kernels that a value may come from; none for arguments and constants."""
        found: dict[Source, None] = {}
        seen = set()
        left = [Source(value, path)]
        while left:
            each = left.pop()
            if (each.producer, each.path) in seen:
                continue
            seen.add((each.producer, each.path))
            if is_free(each.producer) or is_control(each.producer) or is_move(each.producer):
                left.extend(self._behind(each))
            else:
                found[each] = None
        return list(found)

    def outputs(self) -> set[tuple[Instruction, Path]]:
        """The results of kernels that the program gives back."""
        root = self._module.entry.root
        given = range(len(root.shape.parts)) if root.shape.is_tuple else ()
        paths: list[Path] = [(number,) for number in given] or [()]
        found = (source for path in paths for source in self.sources(root, path))
        return {(source.producer, source.path) for source in found}

    def _behind(self, source: Source) -> Iterator[Source]:
        """One step further back, from something that is no kernel."""
        value, path, crossed = source.producer, source.path, source.crossed
        opcode = value.opcode
        if opcode == "parameter":
            yield from self._arguments(source)
        elif opcode == "get-tuple-element":
            yield Source(value.operands[0], (*path, int(value.attributes["index"])), crossed)
        elif opcode == "tuple":
            picked = [value.operands[path[-1]]] if path else value.operands
            for operand in picked:
                yield Source(operand, path[:-1], crossed)
        elif opcode == "while":
            body = value.callee("body")
            if body is not None:
                yield Source(body.root, path, crossed | {"loop"})
        elif opcode == "conditional":
            for branch in value.called:
                yield Source(branch.root, path, crossed | {"branch"})
        elif opcode in ("call", "async-start"):
            for callee in value.called:
                yield Source(callee.root, path, crossed)
        elif is_move(value):
            yield Source(value.operands[0], path, crossed | {"move"})
        elif opcode == "opt-barrier":
            yield Source(value.operands[0], path, crossed | {"barrier"})
        else:  # a bitcast, a `-done`, a custom call that does nothing: what it is made from
            for operand in value.operands:
                yield Source(operand, path, crossed)

    def _arguments(self, source: Source) -> Iterator[Source]:
        """What a computation is called with."""
        parameter, path, crossed = source.producer, source.path, source.crossed
        for caller in self._callers.get(parameter.computation, ()):
            if caller.opcode == "while":
                yield Source(caller.operands[0], path, crossed | {"loop"})
                yield from self._behind(Source(caller, path, crossed))
            elif caller.opcode == "conditional":
                which = caller.called.index(parameter.computation)
                yield Source(caller.operands[which + 1], path, crossed | {"branch"})
            else:
                yield Source(caller.operands[int(parameter.literal)], path, crossed)
