"""A program as a graph of values, whether it came as StableHLO or as HLO.

Names are gone: what an op reads are the nodes themselves. Calls of functions are gone too: an
outlined function stands where it is called, as often as it is called.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...source import SourceLine, short_path

ARGUMENT, RESULT, PROGRAM = "argument", "result", "program"
"""The ops of nodes that no op of a module stands for: see `Node.is_op`."""


_TEXT = "-"  # what MLIR calls the text of a module that it reads: no file of the user's


@dataclass(frozen=True)
class Site:
    """A line of Python as a program knows it, with its text at the time.

    Attributes:
        file: for people, relative where that is shorter.
        line: from 1.
        function: in which it stands.
        text: the line, stripped; empty where the source is not to be had.
    """

    file: str
    line: int
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def identity(self) -> Hashable:
        """Equal for the same line of two revisions, wherever the file lies and the line moved."""
        file = os.path.basename(self.file)
        return (self.function, self.text) if self.text else (self.function, file, self.line)


@dataclass(eq=False, slots=True)
class Node:
    """One op, argument or block of results.

    Attributes:
        op: such as "stablehlo.add"; `ARGUMENT`, or `RESULT` for what ends a block.
        types: of its results, equal where these are: compared, never shown.
        attributes: likewise.
        operands: what it reads, each a node and which of its results.
        owner: the node in whose region it stands; None at the top.
        site: the line of Python.
        path: the op's name in the traced program, such as "transpose(jvp())/mul".
        describe: its types and attributes by name, in words.
        regions: the nodes of each, in order; the last of a region ends it.
        is_ordered: whether somebody outside notices it, so that its turn matters.
    """

    op: str
    types: Hashable
    attributes: Hashable
    operands: tuple[tuple[Node, int], ...]
    owner: Node | None
    site: Site | None
    path: str
    describe: Callable[[], Mapping[str, str]]
    regions: tuple[Sequence[Node], ...] = ()
    is_ordered: bool = False

    @property
    def signature(self) -> Hashable:
        """Its types and attributes."""
        return (self.types, self.attributes)

    @property
    def is_op(self) -> bool:
        """Whether it counts as an op: arguments and ends of blocks do not."""
        return self.op not in (ARGUMENT, RESULT, PROGRAM)


@dataclass(eq=False)
class Graph:
    """A program.

    Attributes:
        program: a node for what is said of the program as a whole, its devices for example.
        arguments: of the entry, in order.
        names: of the arguments, likewise.
        nodes: at the top, arguments left out, in order; the last is the result.
        source: what it was read from, which must live as long as its nodes describe themselves.
    """

    program: Node
    arguments: Sequence[Node]
    names: Sequence[str]
    nodes: Sequence[Node]
    source: object

    def walk(self) -> Iterator[Node]:
        """Every node but the program, owners before what is in their regions."""
        yield from self.arguments
        yield from walk(self.nodes)


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Nodes and what is in their regions, owners first."""
    for node in nodes:
        yield node
        for region in node.regions:
            yield from walk(region)


def lend_sites(nodes: Sequence[Node]) -> None:
    """Give what has no line of its own, such as a constant, that of the first op that reads it."""
    without = {node for node in walk(nodes) if node.is_op and node.site is None}
    for node in reversed(list(walk(nodes))):
        for operand, _ in node.operands if node.site else ():
            if operand in without:
                operand.site = node.site


def make_sites(root: str = "", home: str = "") -> Callable[[SourceLine | None], Site | None]:
    """A function from places to sites, which reads each line once.

    Args:
        root: a folder with the files of another revision, if the program is of one.
        home: where the same files lie in the user's checkout.
    """
    prefix = os.path.join(os.path.realpath(root), "") if root else ""

    @cache
    def site(place: SourceLine | None) -> Site | None:
        if place is None or place.file == _TEXT:
            return None
        text = linecache.getline(place.file, place.line).strip() if place.line else ""
        file = os.path.realpath(place.file) if prefix else place.file
        if prefix and file.startswith(prefix):
            file = os.path.join(home, file.removeprefix(prefix))
        return Site(short_path(file), place.line, place.function, text)

    return site


def describe_with(words: Mapping[str, Any]) -> Callable[[], Mapping[str, str]]:
    """A `Node.describe` of what is known by name."""
    return lambda: {name: str(value) for name, value in words.items()}
