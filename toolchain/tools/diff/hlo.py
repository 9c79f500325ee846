"""The graph of an HLO module."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...hlo import Computation, Instruction, Module, Shape
from ...source import SourceLine
from .graph import ARGUMENT, PROGRAM, RESULT, Graph, Node, Site, describe_with, lend_sites

_ELSEWHERE = frozenset(
    ["metadata", "calls", "to_apply", "condition", "body", "control-predecessors"]
)
_ACTING = frozenset(["infeed", "outfeed", "send", "send-done", "recv", "recv-done"])

_Known = dict[Instruction, Node]


def graph_of_hlo(module: Module, site: Callable[[SourceLine | None], Site | None]) -> Graph:
    """The graph of an HLO module, optimised or not; what is fused stands inside its fusion."""
    words = {
        "partitions": str(module.num_partitions),
        "replicas": str(module.num_replicas),
        "aliases": str(dict(sorted(module.aliases.items()))),
    }
    program = Node(PROGRAM, tuple(words.items()), (), (), None, None, "", describe_with(words))
    known: _Known = {}
    nodes = _Reader(site).nodes(module.entry, known, None)
    arguments = [known[parameter] for parameter in module.entry.parameters]
    names = [parameter.name for parameter in module.entry.parameters]
    nodes = [node for node in nodes if node.op != ARGUMENT]
    lend_sites(nodes)
    return Graph(program, arguments, names, nodes, module)


class _Reader:
    def __init__(self, site: Callable[[SourceLine | None], Site | None]) -> None:
        self._site = site

    def nodes(self, computation: Computation, known: _Known, owner: Node | None) -> list[Node]:
        """What is in a computation: its parameters by number, the rest, what it gives."""
        for parameter in computation.parameters:
            words = _words(parameter)
            known[parameter] = _node_of(ARGUMENT, words, (), owner, None, "")
        nodes = [known[parameter] for parameter in computation.parameters]
        for instruction in computation.instructions:
            if instruction.opcode != "parameter":
                nodes.append(self._node(instruction, known, owner))
        end = ((known[computation.root], 0),)
        return [*nodes, Node(RESULT, (), (), end, owner, None, "", dict)]

    def _node(self, instruction: Instruction, known: _Known, owner: Node | None) -> Node:
        words = _words(instruction)
        reads = tuple((known[operand], 0) for operand in instruction.operands)
        site, path = self._site(instruction.place), instruction.op_name.partition("/")[2]
        node = _node_of(instruction.opcode, words, reads, owner, site, path)
        node.is_ordered = _is_ordered(instruction)
        known[instruction] = node
        node.regions = tuple(self.nodes(each, known, node) for each in instruction.called)
        return node


def _node_of(
    op: str,
    words: Mapping[str, str],
    reads: tuple[tuple[Node, int], ...],
    owner: Node | None,
    site: Site | None,
    path: str,
) -> Node:
    attributes = tuple(each for each in words.items() if each[0] != "type")
    return Node(op, words["type"], attributes, reads, owner, site, path, describe_with(words))


def _words(instruction: Instruction) -> Mapping[str, str]:
    """Types and attributes; names of other computations are names."""
    has_value = instruction.literal and instruction.opcode != "parameter"
    literal = {"value": instruction.literal} if has_value else {}
    kept = {
        name: value
        for name, value in instruction.attributes.items()
        if name not in _ELSEWHERE and name not in instruction.calls
    }
    return {"type": _type(instruction.shape), **literal, **kept}


def _type(shape: Shape) -> str:
    """A shape with its layouts, where they are not the usual ones."""
    if shape.is_tuple:
        return f"({', '.join(map(_type, shape.parts))})"
    usual = tuple(reversed(range(len(shape.dims))))
    layout = "" if shape.layout in ((), usual) else f"{{{','.join(map(str, shape.layout))}}}"
    space = f" in memory {shape.memory_space}" if shape.memory_space else ""
    return f"{shape}{layout}{space}"


def _is_ordered(instruction: Instruction) -> bool:
    marked = instruction.attributes.get("custom_call_has_side_effect") == "true"
    return marked or instruction.opcode in _ACTING
