"""The kernels that computed a value, through tuples, loops, branches, calls and copies.

A value of a loop may come from before the loop or from the last iteration, a value of a conditional
from any branch, so there may be several kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ..hlo import Computation, Instruction, Module
from ..hlo.work import is_control, is_free

_Path = tuple[int, ...]
_Result = tuple[Instruction, _Path]
"""An instruction, and the index of its result, if there are several: the innermost index last."""


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

    def sources(self, value: Instruction, path: _Path = ()) -> set[Instruction]:
        """The kernels that a value may come from; none for arguments and constants."""
        found: set[Instruction] = set()
        visited: set[_Result] = set()
        pending: list[_Result] = [(value, path)]
        while pending:
            each = pending.pop()
            if each in visited:
                continue
            visited.add(each)
            if is_free(each[0]) or is_control(each[0]) or _is_move(each[0]):
                pending.extend(self._behind(*each))
            else:
                found.add(each[0])
        return found

    def outputs(self) -> set[Instruction]:
        """The kernels whose results the program returns."""
        root = self._module.entry.root
        given = range(len(root.shape.parts)) if root.shape.is_tuple else ()
        paths: list[_Path] = [(number,) for number in given] or [()]
        return {source for path in paths for source in self.sources(root, path)}

    def _behind(self, value: Instruction, path: _Path) -> Iterator[_Result]:
        """One step back, from an instruction that is not a kernel."""
        opcode = value.opcode
        if opcode == "parameter":
            yield from self._arguments(value, path)
        elif opcode == "get-tuple-element":
            yield value.operands[0], (*path, int(value.attributes["index"]))
        elif opcode == "tuple":
            for operand in [value.operands[path[-1]]] if path else value.operands:
                yield operand, path[:-1]
        elif opcode == "while":
            body = value.callee("body")
            if body is not None:
                yield body.root, path
        elif opcode in ("conditional", "call", "async-start"):
            for callee in value.called:
                yield callee.root, path
        elif _is_move(value) or opcode == "opt-barrier":
            yield value.operands[0], path
        else:  # a bitcast, a `-done`, a custom call that does nothing
            for operand in value.operands:
                yield operand, path

    def _arguments(self, parameter: Instruction, path: _Path) -> Iterator[_Result]:
        """The arguments that a computation is called with."""
        for caller in self._callers.get(parameter.computation, ()):
            if caller.opcode == "while":
                yield caller.operands[0], path
                yield from self._behind(caller, path)
            elif caller.opcode == "conditional":
                yield caller.operands[caller.called.index(parameter.computation) + 1], path
            else:
                yield caller.arguments[int(parameter.literal)], path


def _is_move(instruction: Instruction) -> bool:
    """Whether an instruction only copies a value from one memory to another, asynchronously."""
    return instruction.opcode in ("copy-start", "slice-start", "dynamic-slice-start")
