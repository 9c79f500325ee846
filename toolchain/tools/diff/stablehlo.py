"""The graph of a StableHLO module.

Calls are followed: the body of a function is read at each call, so that outlining does not matter.
If that would make more than `_MAX_NODES` nodes, calls stay ops, and a function is compared by a
digest of its text. Attributes of two modules in one context are equal by identity, which makes
comparing them cheap. An op has the user's innermost line; inside of a call it has the line of the
call if it has none of its own.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from ...ir import argument_names, functions, walk
from ...ir.locations import frames_of
from ...ir.module import is_pure
from ...source import SourceLine, innermost_user_line, is_jxc_file
from .graph import (
    ARGUMENT,
    PROGRAM,
    RESULT,
    Graph,
    Node,
    QuotedLine,
    ToQuotedLine,
    describe_with,
    inherit_lines,
)

_MAX_NODES = 100_000  # of a program whose calls are followed; nested calls multiply
_CALL, _FUNCTION, _MESH = "func.call", "func.func", "sdy.mesh"
_SYMBOL = re.compile(r"@([\w.$-]+)")
_MAX_ELEMENTS = 16  # of a constant that is shown in full
_DEFAULTS = ("[]", "false", "1 : i32")  # of attributes of a module, which do not matter
_IGNORED = frozenset(["jax.result_info", "jax.arg_info"])  # names of arguments and results

_Operands = tuple[tuple[Node, int], ...]
_Values = dict[ir.Value, tuple[Node, int]]


def graph_of_module(module: ir.Module, to_line: ToQuotedLine) -> Graph:
    """The graph of @main; of every function if there is no @main.

    Modules that are compared must be in one context.

    Args:
        module: with or without locations.
        to_line: quotes source lines, see `line_reader`.
    """
    return _StablehloReader(module, to_line).graph()


class _CallSite(NamedTuple):
    """The line and the path of the call that is being followed."""

    site: QuotedLine | None = None
    path: str = ""

    def at(self, site: QuotedLine | None, path: str) -> _CallSite:
        """Those of an op inside: its own line, or else the call's."""
        return _CallSite(site or self.site, "/".join(filter(None, (self.path, path))))


class _StablehloReader:
    """Reads one module."""

    def __init__(self, module: ir.Module, to_line: ToQuotedLine) -> None:
        self.module = module
        self.functions = functions(module)
        self.follows = _inlined_size(self.functions) <= _MAX_NODES
        self.digests: dict[str, str] = {}
        self.locations: dict[ir.Location, tuple[QuotedLine | None, str]] = {}
        self.to_line = to_line

    def graph(self) -> Graph:
        """The graph of the module."""
        entry = self.functions.get("main")
        program = self._program()
        if entry is None:
            functions = [self._function(op) for op in self.functions.values()]
            return Graph(program, [], [], functions, self.module)
        block = entry.regions[0].blocks[0]
        attributes = _dictionaries(entry, "arg_attrs", len(block.arguments))
        arguments = [
            _argument(argument, entries, None)
            for argument, entries in zip(block.arguments, attributes, strict=True)
        ]
        values: _Values = {
            value: (node, 0) for value, node in zip(block.arguments, arguments, strict=True)
        }
        nodes: list[Node] = []
        ends = self._block(block, values, None, _CallSite(), nodes)
        types, result_attributes = _result_entries(entry)
        described = describe_with(types | result_attributes)
        signature = tuple(types.items()), tuple(result_attributes.items())
        nodes.append(Node(RESULT, *signature, ends, None, None, "", described))
        inherit_lines(nodes)
        return Graph(program, arguments, argument_names(entry), nodes, self.module)

    def _function(self, op: ir.OpView) -> Node:
        """A function of a module without @main. Its name does not matter."""
        type_ = op.attributes["function_type"]
        node = _plain(_FUNCTION, type_, describe_with({"type": type_}))
        node.regions = (self._region(op.regions[0], {}, node, _CallSite()),)
        return node

    def _program(self) -> Node:
        """The attributes of the module without its name, and its meshes."""
        attributes = self.module.operation.attributes
        entries = {name: str(a) for name, a in attributes.items() if name != "sym_name"}
        entries = {name: text for name, text in entries.items() if text not in _DEFAULTS}
        meshes = [op for op in self.module.body.operations if op.operation.name == _MESH]
        entries |= {op.attributes["sym_name"].value: str(op.attributes["mesh"]) for op in meshes}
        return _plain(PROGRAM, tuple(sorted(entries.items())), describe_with(entries))

    def _block(
        self, block: Any, values: _Values, owner: Node | None, call: _CallSite, nodes: list[Node]
    ) -> _Operands:
        """Append the ops of a block to `nodes`; returns the operands of its terminator."""
        operands: _Operands = ()
        for op in block.operations:
            name = op.operation.name
            operands = tuple(values[value] for value in op.operands)
            if name == _CALL and self.follows:
                self._call(op, operands, values, owner, call, nodes)
            elif name not in ("func.return", "stablehlo.return"):
                self._op(op, operands, values, owner, call, nodes)
        return operands

    def _call(
        self,
        op: ir.OpView,
        operands: _Operands,
        values: _Values,
        owner: Node | None,
        call: _CallSite,
        nodes: list[Node],
    ) -> None:
        """Append the ops of the function that is called."""
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        block = callee.regions[0].blocks[0]
        inside = dict(zip(block.arguments, operands, strict=True))
        at = call.at(*self._location(op.location))
        results = self._block(block, inside, owner, at, nodes)
        values.update(zip(op.results, results, strict=True))

    def _op(
        self,
        op: ir.OpView,
        operands: _Operands,
        values: _Values,
        owner: Node | None,
        call: _CallSite,
        nodes: list[Node],
    ) -> None:
        name, at = op.operation.name, call.at(*self._location(op.location))
        types = tuple(result.type for result in op.results)
        attributes = self._attributes(op)
        node = Node(
            name, types, attributes, operands, owner, at.site, at.path, lambda: _entries(op)
        )
        node.is_ordered = not is_pure(op)
        nodes.append(node)
        values.update((result, (node, index)) for index, result in enumerate(op.results))
        node.regions = tuple(self._region(region, values, node, at) for region in op.regions)

    def _region(self, region: Any, values: _Values, owner: Node, call: _CallSite) -> list[Node]:
        nodes: list[Node] = []
        operands: _Operands = ()
        for block in region.blocks:
            for argument in block.arguments:
                node = _argument(argument, {}, owner)
                nodes.append(node)
                values[argument] = (node, 0)
            operands = self._block(block, values, owner, call, nodes)
        nodes.append(Node(RESULT, (), (), operands, owner, None, "", dict))
        return nodes

    def _attributes(self, op: ir.OpView) -> Hashable:
        """The attributes as a value; within one context, equal attributes are identical."""
        try:
            found = tuple(op.attributes.items())
        except TypeError:  # the bindings have no class for complex constants
            return str(op.operation.get_asm(print_generic_op_form=True, enable_debug_info=False))
        return tuple((key, self._without_names(value)) for key, value in found)

    def _without_names(self, attribute: Any) -> Hashable:
        """An attribute with digests of functions in place of their names."""
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(self._without_names(each) for each in attribute)
        if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in self.functions:
            return self._digest(attribute.value)
        value: Hashable = attribute
        return value

    def _digest(self, name: str) -> str:
        """A digest of a function's text, whatever the names of it and its callees."""
        if name not in self.digests:
            self.digests[name] = ""  # MLIR functions of JAX do not recurse
            text = self.functions[name].operation.get_asm(enable_debug_info=False)
            text = _SYMBOL.sub(self._digest_of_symbol, text.replace(f"@{name}(", "(", 1))
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
        return self.digests[name]

    def _digest_of_symbol(self, found: re.Match[str]) -> str:
        return self._digest(found[1]) if found[1] in self.functions else found[0]

    def _location(self, location: ir.Location) -> tuple[QuotedLine | None, str]:
        """The user's innermost line and the path of an op; read once, since ops share locations."""
        found = self.locations.get(location)
        if found is None:
            lines = [SourceLine(*frame) for frame in frames_of(location)]
            # The code that called jxc to lower the program is not part of it.
            program = itertools.takewhile(lambda line: not is_jxc_file(line.file), lines)
            line = innermost_user_line(reversed(list(program)))
            found = self.locations[location] = self.to_line(line), _path_of(location)
        return found


def _path_of(location: ir.Location) -> str:
    """`jit(step)/transpose(jvp())/mul` without `jit(step)/`, which is the program's name."""
    if isinstance(location, ir.CallSiteLoc):
        return "/".join(filter(None, map(_path_of, (location.caller, location.callee))))
    if not isinstance(location, ir.NameLoc):
        return ""
    name = str(location.name_str)
    first, slash, rest = name.partition("/")
    return rest if slash and first.startswith("jit(") else name


def _plain(op: str, types: Hashable, describe: Callable[[], Mapping[str, str]]) -> Node:
    return Node(op, types, (), (), None, None, "", describe)


def _argument(argument: Any, entries: Mapping[str, str], owner: Node | None) -> Node:
    described = describe_with({"type": argument.type, **entries})
    attributes = tuple(sorted(entries.items()))
    return Node(ARGUMENT, argument.type, attributes, (), owner, None, "", described)


def _dictionaries(function: ir.OpView, name: str, count: int) -> list[dict[str, str]]:
    """The attributes of each argument or result, such as donation and sharding."""
    if name not in function.attributes:
        return [{} for _ in range(count)]
    return [
        {each.name: str(each.attr) for each in ir.DictAttr(found) if each.name not in _IGNORED}
        for found in function.attributes[name]
    ]


def _result_entries(function: ir.OpView) -> tuple[dict[str, str], dict[str, str]]:
    """The types and the attributes of a function's results, by name."""
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    attributes = {
        f"{name} of {index}": value
        for index, found in enumerate(_dictionaries(function, "res_attrs", len(kind.results)))
        for name, value in found.items()
    }
    return {f"type of {index}": str(each) for index, each in enumerate(kind.results)}, attributes


def _entries(op: ir.OpView) -> dict[str, str]:
    """Types and attributes as text, without the elements of large constants."""
    types = ", ".join(str(result.type) for result in op.results)
    try:
        attributes = dict(op.attributes.items())
    except TypeError:
        return {"type": types}
    return {"type": types} | {name: _text(value) for name, value in attributes.items()}


def _text(attribute: ir.Attribute) -> str:
    is_dense = isinstance(attribute, ir.DenseElementsAttr)
    if is_dense and len(attribute) > _MAX_ELEMENTS and not attribute.is_splat:
        return f"{len(attribute)} elements"
    return str(attribute)


def _callees(function: ir.OpView) -> Sequence[str]:
    found = [op for op in walk(function.operation) if op.operation.name == _CALL]
    return [ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in found]


def _inlined_size(known: Mapping[str, ir.OpView]) -> int:
    """The number of ops if every call is followed."""
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        if name not in sizes:
            ops = sum(1 for _ in walk(known[name].operation))
            sizes[name] = ops + sum(size(callee) for callee in _callees(known[name]))
        return sizes[name]

    return max((size(name) for name in known), default=0)
