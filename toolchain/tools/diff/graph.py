"""A program as a graph of nodes, from StableHLO or from HLO.

Values have no names: the operands of a node are the nodes themselves. Functions are inlined: an
outlined function appears at each of its calls. This file has the graph and its construction from
HLO; `stablehlo.py` has that from StableHLO.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from ...hlo import Computation, Instruction, Module, Shape
from ...source import SourceLine, short_path

ARGUMENT, RESULT, PROGRAM = "argument", "result", "program"
"""The ops of nodes that are not an op of the program: see `DiffNode.is_op`."""

_NO_FILE = "-"  # MLIR's file name for a module without locations


@dataclass(frozen=True)
class QuotedLine:
    """A line of Python with its text at the time the program was lowered.

    Attributes:
        file: relative to the current directory if it is below it.
        line: from 1.
        function: the function around the line.
        text: the text of the line, stripped; empty without source.
    """

    file: str
    line: int
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def identity(self) -> Hashable:
        """Equal for the same line in two revisions, even if the file or the line moved."""
        file = os.path.basename(self.file)
        return (self.function, self.text) if self.text else (self.function, file, self.line)


ToQuotedLine = Callable[[SourceLine | None], QuotedLine | None]


@dataclass(eq=False, slots=True)
class DiffNode:
    """One op, one argument, or the results that end a block.

    Attributes:
        op: such as "stablehlo.add"; `ARGUMENT`, or `RESULT` for the end of a block.
        types: the types of its results, as a value that is compared and never shown.
        attributes: the same of its attributes.
        operands: each a node, and which of its results.
        owner: the node whose region contains it; None at the top.
        site: the line of Python.
        path: the op's name in the traced program, such as "transpose(jvp())/mul".
        describe: returns its types and attributes as text, by name.
        regions: the nodes of each region, in order; the last one ends it.
        is_ordered: whether it has an effect, so that its order matters.
    """

    op: str
    types: Hashable = ()
    attributes: Hashable = ()
    operands: tuple[tuple[DiffNode, int], ...] = ()
    owner: DiffNode | None = None
    site: QuotedLine | None = None
    path: str = ""
    describe: Callable[[], Mapping[str, str]] = dict
    regions: tuple[Sequence[DiffNode], ...] = ()
    is_ordered: bool = False

    @property
    def signature(self) -> Hashable:
        """Its types and attributes."""
        return (self.types, self.attributes)

    @property
    def is_op(self) -> bool:
        """Whether it counts as an op; arguments and ends of blocks do not."""
        return self.op not in (ARGUMENT, RESULT, PROGRAM)


@dataclass(eq=False)
class Graph:
    """A program.

    Attributes:
        program: a node for the program as a whole, such as its number of devices.
        arguments: of the entry function, in order.
        names: of the arguments.
        nodes: at the top level without the arguments, in order; the last is the result.
        source: the module, which must stay alive as long as its nodes describe themselves.
    """

    program: DiffNode
    arguments: Sequence[DiffNode]
    names: Sequence[str]
    nodes: Sequence[DiffNode]
    source: object

    def walk(self) -> Iterator[DiffNode]:
        """Every node but `program`; owners before the nodes in their regions."""
        yield from self.arguments
        yield from walk(self.nodes)


def walk(nodes: Sequence[DiffNode]) -> Iterator[DiffNode]:
    """Nodes and the nodes in their regions, owners first."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from walk(region)


def inherit_lines(nodes: Sequence[DiffNode]) -> None:
    """Give ops without a line, such as constants, the line of the first op that reads them."""
    without = {node for node in walk(nodes) if node.is_op and node.site is None}
    for node in reversed(list(walk(nodes))):
        for operand, _ in node.operands if node.site else ():
            if operand in without:
                operand.site = node.site


def line_reader(root: str = "", home: str = "") -> ToQuotedLine:
    """A function that quotes source lines, and reads each line once.

    Args:
        root: the folder with the files of another revision, if the program is of one.
        home: the folder of the same files in the user's checkout.
    """
    prefix = os.path.join(os.path.realpath(root), "") if root else ""

    @cache
    def quoted(line: SourceLine | None) -> QuotedLine | None:
        if line is None or line.file == _NO_FILE:
            return None
        text = linecache.getline(line.file, line.line).strip() if line.line else ""
        file = os.path.realpath(line.file) if prefix else line.file
        if prefix and file.startswith(prefix):
            file = os.path.join(home, file.removeprefix(prefix))
        return QuotedLine(short_path(file), line.line, line.function, text)

    return quoted


# From HLO

_IGNORED = frozenset(["metadata", "calls", "to_apply", "condition", "body", "control-predecessors"])
"""Attributes that the graph has elsewhere, or that do not change what is computed."""

_EFFECTS = frozenset(["infeed", "outfeed", "send", "send-done", "recv", "recv-done"])


def graph_of_hlo(module: Module, to_line: ToQuotedLine) -> Graph:
    """The graph of an HLO module. The ops of a fusion are in a region of the fusion's node."""
    settings = {
        "partitions": str(module.num_partitions),
        "replicas": str(module.num_replicas),
        "aliases": str(dict(sorted(module.aliases.items()))),
    }
    program = DiffNode(PROGRAM, tuple(settings.items()), describe=lambda: settings)
    known: dict[Instruction, DiffNode] = {}
    nodes = _computation_nodes(module.entry, known, None, to_line)
    arguments = [known[parameter] for parameter in module.entry.parameters]
    names = [parameter.name for parameter in module.entry.parameters]
    nodes = nodes[len(arguments) :]
    inherit_lines(nodes)
    return Graph(program, arguments, names, nodes, module)


def _computation_nodes(
    computation: Computation,
    known: dict[Instruction, DiffNode],
    owner: DiffNode | None,
    to_line: ToQuotedLine,
) -> list[DiffNode]:
    """The nodes of a computation: its parameters, its instructions, and its result."""
    others = [each for each in computation.instructions if each.opcode != "parameter"]
    nodes = []
    for each in (*computation.parameters, *others):
        entries = _entries(each)
        attributes = tuple(entry for entry in entries.items() if entry[0] != "type")
        describe: Callable[[], Mapping[str, str]] = partial(dict, entries)
        node = DiffNode(each.opcode, entries["type"], attributes, owner=owner, describe=describe)
        if each.opcode == "parameter":
            node.op = ARGUMENT
        else:
            node.operands = tuple((known[operand], 0) for operand in each.operands)
            node.site, node.path = to_line(each.place), each.op_name.partition("/")[2]
            has_mark = each.attributes.get("custom_call_has_side_effect") == "true"
            node.is_ordered = has_mark or each.opcode in _EFFECTS
        known[each] = node
        nodes.append(node)
        node.regions = tuple(
            _computation_nodes(called, known, node, to_line) for called in each.called
        )
    end = ((known[computation.root], 0),)
    return [*nodes, DiffNode(RESULT, operands=end, owner=owner)]


def _entries(instruction: Instruction) -> Mapping[str, str]:
    """The type and the attributes of an instruction, without names of other computations."""
    has_value = instruction.literal and instruction.opcode != "parameter"
    literal = {"value": instruction.literal} if has_value else {}
    kept = {
        name: value
        for name, value in instruction.attributes.items()
        if name not in _IGNORED and name not in instruction.calls
    }
    return {"type": _type_text(instruction.shape), **literal, **kept}


def _type_text(shape: Shape) -> str:
    """A shape with its layouts, without row-major ones."""
    if shape.is_tuple:
        return f"({', '.join(map(_type_text, shape.parts))})"
    row_major = tuple(reversed(range(len(shape.dims))))
    layout = "" if shape.layout in ((), row_major) else f"{{{','.join(map(str, shape.layout))}}}"
    space = f" in memory {shape.memory_space}" if shape.memory_space else ""
    return f"{shape}{layout}{space}"
