"""The graph of a StableHLO module."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir

from ...ir import argument_names, functions, walk
from ...ir.effects import is_pure
from ...source import SourceLine
from .graph import ARGUMENT, PROGRAM, RESULT, Graph, Node, Site, describe_with, lend_sites
from .locations import Locations

_MOST_NODES = 100_000  # of a program whose calls are followed: nested calls multiply
_CALL, _FUNCTION, _MESH = "func.call", "func.func", "sdy.mesh"
_SYMBOL = re.compile(r"@([\w.$-]+)")
_SHORT = 16  # elements of a constant that is shown whole
_UNSAID = ("[]", "false", "1 : i32")  # of a module: as good as not said
_UNIMPORTANT = frozenset(["jax.result_info", "jax.arg_info"])  # names for people

_Values = dict[ir.Value, tuple[Node, int]]


def graph_of_module(module: ir.Module, site: Callable[[SourceLine | None], Site | None]) -> Graph:
    """The graph of what @main computes; of every function where there is no @main.

    Two modules that are compared must lie in one context: attributes are equal there or not.

    Args:
        module: with or without locations.
        site: makes sites of places, see `make_sites`.
    """
    return _Builder(module, site).graph()


class _Builder:
    """What is known while one module is read."""

    def __init__(self, module: ir.Module, site: Callable[[SourceLine | None], Site | None]) -> None:
        self.module = module
        self.functions = functions(module)
        self.locations = Locations(site)
        self.follows = _inlined_size(self.functions) <= _MOST_NODES
        self.digests: dict[str, str] = {}

    def graph(self) -> Graph:
        """Read the module from its entry."""
        entry = self.functions.get("main")
        program = self._program()
        if entry is None:
            nodes = [self._function(op) for op in self.functions.values()]
            return Graph(program, [], [], nodes, self.module)
        values: _Values = {}
        block = entry.regions[0].blocks[0]
        given = _dictionaries(entry, "arg_attrs", len(block.arguments))
        arguments = [
            _argument(argument, words, None)
            for argument, words in zip(block.arguments, given, strict=True)
        ]
        values.update(
            (value, (node, 0)) for value, node in zip(block.arguments, arguments, strict=True)
        )
        nodes = []
        ends = self._block(block, values, None, _Context(), nodes)
        types, attributes = _of_results(entry)
        described = describe_with(types | attributes)
        words = tuple(types.items()), tuple(attributes.items())
        nodes.append(Node(RESULT, *words, ends, None, None, "", described))
        lend_sites(nodes)
        return Graph(program, arguments, argument_names(entry), nodes, self.module)

    def _function(self, op: ir.OpView) -> Node:
        """A function that nothing calls by a name that counts."""
        described = describe_with({"type": op.attributes["function_type"]})
        node = _plain(_FUNCTION, op.attributes["function_type"], described)
        node.regions = (self._region(op.regions[0], {}, node, _Context()),)
        return node

    def _program(self) -> Node:
        """What is said of the module, its name left out."""
        attributes = self.module.operation.attributes
        words = {name: str(a) for name, a in attributes.items() if name != "sym_name"}
        words = {name: text for name, text in words.items() if text not in _UNSAID}
        meshes = [op for op in self.module.body.operations if op.operation.name == _MESH]
        words |= {op.attributes["sym_name"].value: str(op.attributes["mesh"]) for op in meshes}
        return _plain(PROGRAM, tuple(sorted(words.items())), describe_with(words))

    def _block(
        self, block: Any, values: _Values, owner: Node | None, context: _Context, nodes: list[Node]
    ) -> tuple[tuple[Node, int], ...]:
        """Read the ops of a block into `nodes`; returns what its terminator reads."""
        reads: tuple[tuple[Node, int], ...] = ()
        for op in block.operations:
            name = op.operation.name
            reads = tuple(values[value] for value in op.operands)
            if name == _CALL and self.follows:
                self._call(op, reads, values, owner, context, nodes)
            elif name not in ("func.return", "stablehlo.return"):
                self._op(op, name, reads, values, owner, context, nodes)
        return reads

    def _call(
        self,
        op: ir.OpView,
        reads: tuple[tuple[Node, int], ...],
        values: _Values,
        owner: Node | None,
        context: _Context,
        nodes: list[Node],
    ) -> None:
        """Put the body of a function where it is called."""
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        block = callee.regions[0].blocks[0]
        inside = dict(zip(block.arguments, reads, strict=True))
        at = context.at(*self.locations.of(op.location))
        results = self._block(block, inside, owner, at, nodes)
        values.update(zip(op.results, results, strict=True))

    def _op(
        self,
        op: ir.OpView,
        name: str,
        reads: tuple[tuple[Node, int], ...],
        values: _Values,
        owner: Node | None,
        context: _Context,
        nodes: list[Node],
    ) -> None:
        at = context.at(*self.locations.of(op.location))
        types = tuple(result.type for result in op.results)
        attributes = self._attributes(op)
        node = Node(name, types, attributes, reads, owner, at.site, at.path, lambda: _words(op))
        node.is_ordered = not is_pure(op)
        nodes.append(node)
        values.update((result, (node, index)) for index, result in enumerate(op.results))
        node.regions = tuple(self._region(region, values, node, at) for region in op.regions)

    def _region(self, region: Any, values: _Values, owner: Node, context: _Context) -> list[Node]:
        nodes: list[Node] = []
        reads: tuple[tuple[Node, int], ...] = ()
        for block in region.blocks:
            for argument in block.arguments:
                node = _argument(argument, {}, owner)
                nodes.append(node)
                values[argument] = (node, 0)
            reads = self._block(block, values, owner, context, nodes)
        nodes.append(Node(RESULT, (), (), reads, owner, None, "", dict))
        return nodes

    def _attributes(self, op: ir.OpView) -> Hashable:
        """The attributes as a value; attributes of one context are equal or not by identity."""
        try:
            found = tuple(op.attributes.items())
        except TypeError:  # the bindings have no class for complex constants: by its text
            return op.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
        return tuple((key, self._unnamed(value)) for key, value in found)

    def _unnamed(self, attribute: ir.Attribute) -> Hashable:
        """An attribute without the names of functions: what they say stands there instead."""
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(self._unnamed(each) for each in attribute)
        if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in self.functions:
            return self._digest(attribute.value)
        return attribute

    def _digest(self, name: str) -> str:
        """What a function that is not followed says, whatever it and its callees are called."""
        if name not in self.digests:
            self.digests[name] = ""  # until it is known: no program leads round in a circle
            text = self.functions[name].operation.get_asm(enable_debug_info=False)
            text = _SYMBOL.sub(
                lambda found: self._said(found[1]), text.replace(f"@{name}(", "(", 1)
            )
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
        return self.digests[name]

    def _said(self, symbol: str) -> str:
        return self._digest(symbol) if symbol in self.functions else f"@{symbol}"


class _Context:
    """Where the call stands that is being followed."""

    def __init__(self, site: Site | None = None, path: str = "") -> None:
        self.site, self.path = site, path

    def at(self, site: Site | None, path: str) -> _Context:
        """Where an op inside stands: its own line, or else that of the call."""
        joined = "/".join(part for part in (self.path, path) if part)
        return _Context(site or self.site, joined)


def _plain(op: str, types: Hashable, describe: Callable[[], Mapping[str, str]]) -> Node:
    return Node(op, types, (), (), None, None, "", describe)


def _argument(argument: Any, words: Mapping[str, str], owner: Node | None) -> Node:
    known = {"type": argument.type, **words}
    attributes = tuple(sorted(words.items()))
    return Node(ARGUMENT, argument.type, attributes, (), owner, None, "", describe_with(known))


def _dictionaries(function: ir.OpView, name: str, count: int) -> list[dict[str, str]]:
    """The attributes of each argument or result, such as donation and sharding."""
    if name not in function.attributes:
        return [{} for _ in range(count)]
    return [
        {each.name: str(each.attr) for each in ir.DictAttr(found) if each.name not in _UNIMPORTANT}
        for found in function.attributes[name]
    ]


def _of_results(function: ir.OpView) -> tuple[dict[str, str], dict[str, str]]:
    """The types and the attributes of what a function gives, by name."""
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    attributes = {
        f"{name} of {index}": value
        for index, found in enumerate(_dictionaries(function, "res_attrs", len(kind.results)))
        for name, value in found.items()
    }
    return {f"type of {index}": str(each) for index, each in enumerate(kind.results)}, attributes


def _words(op: ir.OpView) -> dict[str, str]:
    """Types and attributes in words, elements of large constants left out."""
    types = ", ".join(str(result.type) for result in op.results)
    try:
        attributes = dict(op.attributes.items())
    except TypeError:
        return {"type": types}
    return {"type": types} | {name: _word(value) for name, value in attributes.items()}


def _word(attribute: ir.Attribute) -> str:
    elements = isinstance(attribute, ir.DenseElementsAttr)
    if elements and len(attribute) > _SHORT and not attribute.is_splat:
        return f"{len(attribute)} elements"
    return str(attribute)


def _callees(function: ir.OpView) -> Sequence[str]:
    found = [op for op in walk(function.operation) if op.operation.name == _CALL]
    return [ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in found]


def _inlined_size(known: Mapping[str, ir.OpView]) -> int:
    """How many ops there are where every call of @main is followed."""
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        if name not in sizes:
            ops = sum(1 for _ in walk(known[name].operation))
            sizes[name] = ops + sum(size(callee) for callee in _callees(known[name]))
        return sizes[name]

    return max((size(name) for name in known), default=0)
