"""Which instruction wrote a value, and the line of Python that it comes from.

XLA's buffer assignment names a value by the instruction that holds it: a loop, a tuple, a copy
without metadata. `Origins` searches back, at most `_FAR` steps, for the instruction that wrote the
value, and for the first one on the way that has a name and a line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..hlo import Computation, Instruction, Module, SourceLine
from .buffers import Index

Part = tuple[Instruction, Index]

_FAR = 64  # steps that a search goes back


class Origins:
    """Finds the origins of a module's values.

    Args:
        module: the optimized HLO whose buffers were assigned.
    """

    def __init__(self, module: Module) -> None:
        self._named = {
            instruction.name: instruction
            for computation in module.computations.values()
            for instruction in computation.instructions
        }
        self._callers: dict[Computation, Instruction] = {}
        for instruction in self._named.values():
            for computation in instruction.called:
                self._callers.setdefault(computation, instruction)

    def writer(self, name: str, index: Index) -> Part | None:
        """The instruction that computes a part of a value, and the part of its result.

        Tuples and loops are followed. The state of a loop is written by its body, or before the
        loop where the body does not change it. None for a name that the module does not have.
        """
        if name not in self._named:
            return None
        part = _back(self._named[name], index)
        for _ in range(_FAR):
            before = self._outside(part)
            if before is None:
                break
            part = before
        return part

    def name_and_line(self, part: Part) -> tuple[str, SourceLine | None]:
        """The op name and the line of a part of an instruction, or of its first operand.

        XLA inserts copies and conversions without metadata: a copy is named "copy of" its operand,
        and has that operand's line. A parameter of the program is named by its path, and has no
        line.
        """
        op_name, place = "", None
        made = f"{part[0].opcode.removesuffix('-start').removesuffix('-done')} of "
        for each, is_itself in self._lineage(part):
            op_name = op_name or (each.op_name and ("" if is_itself else made) + each.op_name)
            place = place or each.place
            if op_name and (place or each.opcode == "parameter"):
                break
        return op_name, place

    def _lineage(self, part: Part) -> Iterator[tuple[Instruction, bool]]:
        """The instruction, its first operand, and so on; with whether it is the instruction."""
        before: Part | None = part
        for _ in range(_FAR):
            if before is None:
                return
            each, index = before
            if each.opcode == "fusion" and index and each.called:  # one of several results
                yield _back(each.called[0].root, index)[0], before is part
            yield each, before is part
            before = self.writer(each.operands[0].name, ()) if each.operands else None

    def _outside(self, part: Part) -> Part | None:
        """The writer of a parameter of a loop or a call; None where `part` is no parameter."""
        parameter, index = part
        caller = self._callers.get(parameter.computation)
        if parameter.opcode != "parameter" or caller is None:
            return None
        if caller.opcode == "while":
            return _of_loop(caller, index)
        number = int(parameter.literal)
        if caller.opcode != "call" or number >= len(caller.operands):
            return None
        return _back(caller.operands[number], index)


def _back(instruction: Instruction, index: Index) -> Part:
    """The instruction that wrote a part, within its computation and the loops in it."""
    while True:
        match instruction.opcode:
            case "get-tuple-element":
                index = (int(instruction.attributes["index"]), *index)
                instruction = instruction.operands[0]
            case "tuple" if index:
                instruction, index = instruction.operands[index[0]], index[1:]
            case "bitcast" | "optimization-barrier":
                instruction = instruction.operands[0]
            case "call":
                return _back(instruction.called[0].root, index)
            case "while" if index:
                return _of_loop(instruction, index)
            case _:
                return instruction, index


def _of_loop(loop: Instruction, index: Index) -> Part:
    """The writer of a part of a loop's state: in its body, or before it."""
    body = loop.callee("body")
    assert body is not None
    part = _back(body.root, index)
    if part[0].opcode == "parameter" and part[0].computation is body:
        return _back(loop.operands[0], index)
    return part
