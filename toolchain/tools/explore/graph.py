"""The graph of the ops on some lines of a program: nodes, edges, and Model Explorer's format.

It is read from the text that the page shows, so that any stage with named values has one. The ops
that the selected ones read, and that are not selected, are nodes too, marked as outside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...pages.stages import StageText
from .layout import Drawing, lay_out

MAX_NODES = 200
KINDS = ("stablehlo", "hlo")


@dataclass(frozen=True)
class GraphNode:
    """An op.

    Attributes:
        line: of the text, from 1.
        op: its name, without the dialect; empty for a value that no line defines.
        value: the name of its first result; empty without results.
        type: of its result as printed.
        scope: its name stack, such as "jit(step)/jvp()".
        outside: whether it is not selected, only read by an op that is.
    """

    line: int
    op: str
    value: str
    type: str
    scope: str = ""
    outside: bool = False


@dataclass
class OpGraph:
    """Nodes in order of their lines, and edges as pairs of their indices.

    `omitted` is how many selected ops are left out, because there are more than 200.
    """

    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    omitted: int = 0

    def as_json(self) -> dict[str, Any]:
        """Nodes with positions and edges with points, for the page."""
        labels = [node.op or node.value for node in self.nodes]
        widths = [
            max(48, 8 * max(len(label), len(node.type)) + 16)
            for label, node in zip(labels, self.nodes, strict=True)
        ]
        layout: Drawing = lay_out(widths, self.edges)
        nodes = [
            vars(node) | {"label": label, "x": x, "y": y, "width": width}
            for node, label, (x, y), width in zip(
                self.nodes, labels, layout.centers, widths, strict=True
            )
        ]
        edges = [
            {"nodes": edge, "points": points}
            for edge, points in zip(self.edges, layout.paths, strict=True)
        ]
        size = {"width": layout.width, "height": layout.height}
        return {"nodes": nodes, "edges": edges, "omitted": self.omitted, **size}

    def for_model_explorer(self, name: str) -> dict[str, Any]:
        """A collection of one graph in the JSON format that Model Explorer opens."""
        incoming: dict[int, list[int]] = {}
        for start, end in self.edges:
            incoming.setdefault(end, []).append(start)
        nodes = [
            {
                "id": str(index),
                "label": node.op or node.value,
                "namespace": _as_namespace(node.scope),
                "attrs": [
                    {"key": "value", "value": node.value},
                    {"key": "line", "value": str(node.line)},
                ],
                "incomingEdges": [
                    {"sourceNodeId": str(s), "sourceNodeOutputId": "0", "targetNodeInputId": str(i)}
                    for i, s in enumerate(incoming.get(index, ()))
                ],
                "outputsMetadata": [
                    {"id": "0", "attrs": [{"key": "tensor_shape", "value": node.type}]}
                ],
            }
            for index, node in enumerate(self.nodes)
        ]
        return {"label": name, "graphs": [{"id": name, "nodes": nodes}]}


def _as_namespace(scope: str) -> str:
    """A name stack without its last part, which names the op."""
    return scope.rpartition("/")[0]


@dataclass(frozen=True)
class _ParsedLine:
    results: tuple[str, ...]
    op: str
    operands: tuple[str, ...]
    type: str


_USE = re.compile(r"%[\w.$-]+")
_OP = re.compile(r'"?([A-Za-z_][\w.-]*)"?')
_TYPE = re.compile(r"(?:-> |: )([^:>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?[^:>]*)$")
_MLIR = re.compile(r"\s*((?:%[\w.$-]+(?::\d+)?(?:, )?)+) = (.*)$")
_HLO = re.compile(r"\s*(?:ROOT )?(%[\w.-]+) = (\([^=]*?\)|\S+) ([a-z][\w-]*)\((.*)$")
_ATTRIBUTE = re.compile(r"\b\w+=(?:%[\w.-]+|\{%[^}]*\})")


def _parse(kind: str, line: str) -> _ParsedLine | None:
    """The op on a line; None if there is none."""
    if kind == "hlo":
        if found := _HLO.match(line):
            operands = _USE.findall(_ATTRIBUTE.sub("", found[4]))
            return _ParsedLine((found[1],), found[3], tuple(operands), found[2])
        return None
    if found := _MLIR.match(line):
        results = tuple(name.partition(":")[0] for name in _USE.findall(found[1]))
        named, rest = _OP.match(found[2]), found[2]
        type_ = _TYPE.search(rest.rstrip(" {"))
        op = named[1].removeprefix("stablehlo.") if named else ""
        return _ParsedLine(results, op, tuple(_USE.findall(rest)), type_[1] if type_ else "")
    text = line.strip()
    if text.startswith(("return ", "stablehlo.return ", "sdy.return ")):
        return _ParsedLine((), "return", tuple(_USE.findall(text)), "")
    return None


def _ops(stage: StageText) -> Iterator[tuple[int, str, _ParsedLine]]:
    """The line, from 0, the function or computation around it, and the op of each line with one."""
    function = ""
    for index, line in enumerate(stage.lines):
        is_start = "func.func" in line if stage.kind == "stablehlo" else line.endswith("{")
        if is_start and " = " not in line:
            function = line
        elif parsed := _parse(stage.kind, line):
            yield index, function, parsed


def graph_of(stage: StageText, lines: Collection[int], names: dict[int, str]) -> OpGraph:
    """The graph of the ops on `lines`, and of those that they read.

    Args:
        stage: a module or optimized HLO.
        lines: line numbers from 1.
        names: the name stack of each link of the stage.
    """
    ops = list(_ops(stage))
    defined = {(fn, result): (i, op) for i, fn, op in ops for result in op.results}
    chosen = [(i, fn, op) for i, fn, op in ops if i + 1 in lines]
    graph = OpGraph(omitted=max(0, len(chosen) - MAX_NODES))
    numbers: dict[object, int] = {}

    def number(key: object, node: GraphNode) -> int | None:
        if key not in numbers:
            if len(graph.nodes) >= MAX_NODES:
                return None
            numbers[key] = len(graph.nodes)
            graph.nodes.append(node)
        return numbers[key]

    def node_of(index: int, op: _ParsedLine, *, outside: bool) -> GraphNode:
        scope = names.get(stage.links[index], "")
        return GraphNode(index + 1, op.op, (*op.results, "")[0], op.type, scope, outside)

    for index, _, op in chosen[:MAX_NODES]:
        number(index, node_of(index, op, outside=False))
    for index, function, op in chosen[:MAX_NODES]:
        for operand in dict.fromkeys(op.operands):
            source = defined.get((function, operand))
            if source is None:  # an argument
                start = number((function, operand), GraphNode(0, "", operand, "", outside=True))
            elif source[0] == index:
                continue
            else:
                start = number(source[0], node_of(*source, outside=True))
            if start is not None:
                graph.edges.append((start, numbers[index]))
    return graph
