"""Which instruction wrote what a value holds, and which line of Python that comes from."""

from __future__ import annotations

from collections.abc import Iterator

from ...hlo import Computation, Instruction, Module, SourceLine
from .memory_assignment import Index

Part = tuple[Instruction, Index]

_FAR = 64  # instructions that a search goes back


class Origins:
    """What stands behind the names of a module's values.

    Args:
        module: the optimised HLO whose buffers were assigned.
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
        """Who computes a part of a value, and as which part: tuples and loops are looked through.

        What a loop carries was written by its body; where the body hands it on, by what stands
        before the loop. None for a name that the module does not have.
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

    def told(self, part: Part) -> tuple[str, SourceLine | None]:
        """The op name and the line of a part of an instruction, or of what it was made from.

        XLA inserts copies and conversions without either: those are "copy of", say, the name of
        their operand, and have its line. A parameter of the program has its path for a name, and
        no line.
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
        """Who computes the part, then its first operand, and so on; whether it is the first."""
        before: Part | None = part
        for _ in range(_FAR):
            if before is None:
                return
            each, index = before
            for inner in (*_in_fusion(each, index), each):
                yield inner, before is part
            operand = each.operands[0] if each.operands else None
            before = self.writer(operand.name, ()) if operand is not None else None

    def _outside(self, part: Part) -> Part | None:
        """From a parameter of a loop or a call to who wrote it; None where this is the writer."""
        parameter, index = part
        caller = self._callers.get(parameter.computation)
        if parameter.opcode != "parameter" or caller is None:
            return None
        if caller.opcode == "while":
            return _of_loop(caller, index)
        operand = self._argument(parameter) if caller.opcode == "call" else None
        return _back(operand, index) if operand is not None else None

    def _argument(self, parameter: Instruction) -> Instruction | None:
        """What is handed to a called computation for a parameter of it."""
        caller = self._callers.get(parameter.computation)
        if parameter.opcode != "parameter" or caller is None:
            return None
        number = int(parameter.literal)
        return caller.operands[number] if number < len(caller.operands) else None


def _in_fusion(fusion: Instruction, index: Index) -> tuple[Instruction, ...]:
    """What computes one of a fusion's several results; its only one bears the fusion's name."""
    if fusion.opcode != "fusion" or not index or not fusion.called:
        return ()
    return (_back(fusion.called[0].root, index)[0],)


def _back(instruction: Instruction, index: Index) -> Part:
    """The part of a value that this one is, within the computation and the loops in it."""
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
    """Who writes a part of what a loop carries: its body, or what stands before it."""
    body = loop.callee("body")
    assert body is not None
    part = _back(body.root, index)
    if part[0].opcode == "parameter" and part[0].computation is body:
        return _back(loop.operands[0], index)
    return part
