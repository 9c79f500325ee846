"""The graph of a StableHLO module.

Calls are followed: the body of a function is read at each call, so that outlining does not matter.
If that would make more than `_MAX_NODES` nodes, calls stay ops, and a function is compared by a
digest of its text. Attributes of two modules in one context are equal by identity, which makes
comparing them cheap. An op has the user's innermost line; inside of a call it has the line of the
call if it has none of its own.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Hashable, Mapping
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
    DiffNode,
    Graph,
    QuotedLine,
    ToQuotedLine,
    inherit_lines,
)

_MAX_NODES = 100_000  # of a program whose calls are followed; nested calls multiply
_CALL, _FUNCTION, _MESH = "func.call", "func.func", "sdy.mesh"
_SYMBOL = re.compile(r"@([\w.$-]+)")
_MAX_ELEMENTS = 16  # of a constant that is shown in full
_DEFAULTS = ("[]", "false", "1 : i32")  # of attributes of a module, which do not matter
_IGNORED = frozenset(["jax.result_info", "jax.arg_info"])  # names of arguments and results

_Operands = tuple[tuple[DiffNode, int], ...]
_Values = dict[ir.Value, tuple[DiffNode, int]]


def graph_of_module(module: ir.Module, to_line: ToQuotedLine) -> Graph:
    """The graph of @main; of every function if there is no @main.

    Modules that are compared must be in one context.

    Args:
        module: with or without locations.
        to_line: quotes source lines, see `line_reader`.
    """
    return _StablehloReader(module, to_line).graph()


class _Scope(NamedTuple):
    """A block that is being read.

    Attributes:
        nodes: those of the block so far.
        owner: the node whose region it is; None at the top.
        site, path: of the op or the call around it; an op without a line of its own gets `site`.
    """

    nodes: list[DiffNode]
    owner: DiffNode | None = None
    site: QuotedLine | None = None
    path: str = ""


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
        scope, values = _Scope([]), _Values()
        block = entry.regions[0].blocks[0]
        attributes = _dictionaries(entry, "arg_attrs", len(block.arguments))
        arguments = [
            _argument(argument, entries, None, values)
            for argument, entries in zip(block.arguments, attributes, strict=True)
        ]
        ends = self._block(block, values, scope)
        types, result_attributes = _result_entries(entry)
        end = DiffNode(RESULT, tuple(types.items()), tuple(result_attributes.items()), ends)
        end.describe = lambda: types | result_attributes
        scope.nodes.append(end)
        inherit_lines(scope.nodes)
        return Graph(program, arguments, argument_names(entry), scope.nodes, self.module)

    def _function(self, op: ir.OpView) -> DiffNode:
        """A function of a module without @main. Its name does not matter."""
        type_ = op.attributes["function_type"]
        node = DiffNode(_FUNCTION, type_, describe=lambda: {"type": str(type_)})
        node.regions = (self._region(op.regions[0], _Values(), _Scope([], node)),)
        return node

    def _program(self) -> DiffNode:
        """The attributes of the module without its name, and its meshes."""
        attributes = self.module.operation.attributes
        entries = {name: str(a) for name, a in attributes.items() if name != "sym_name"}
        entries = {name: text for name, text in entries.items() if text not in _DEFAULTS}
        meshes = [op for op in self.module.body.operations if op.operation.name == _MESH]
        entries |= {op.attributes["sym_name"].value: str(op.attributes["mesh"]) for op in meshes}
        return DiffNode(PROGRAM, tuple(sorted(entries.items())), describe=lambda: entries)

    def _block(self, block: Any, values: _Values, scope: _Scope) -> _Operands:
        """Append the ops of a block to `scope.nodes`; returns the operands of its terminator."""
        operands: _Operands = ()
        for op in block.operations:
            name = op.operation.name
            operands = tuple(values[value] for value in op.operands)
            if name in ("func.return", "stablehlo.return"):
                continue
            site, path = self._location(op.location)
            path = "/".join(filter(None, (scope.path, path)))
            inner = scope._replace(site=site or scope.site, path=path)
            if name == _CALL and self.follows:
                callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
                body = callee.regions[0].blocks[0]
                results = self._block(body, dict(zip(body.arguments, operands, strict=True)), inner)
                values.update(zip(op.results, results, strict=True))
                continue
            node = DiffNode(
                name,
                tuple(result.type for result in op.results),
                self._attributes(op),
                operands,
                scope.owner,
                inner.site,
                path,
                functools.partial(_entries, op),
                is_ordered=not is_pure(op),
            )
            scope.nodes.append(node)
            values.update((result, (node, index)) for index, result in enumerate(op.results))
            inner = inner._replace(owner=node)
            node.regions = tuple(self._region(region, values, inner) for region in op.regions)
        return operands

    def _region(self, region: Any, values: _Values, scope: _Scope) -> list[DiffNode]:
        scope = scope._replace(nodes=[])
        operands: _Operands = ()
        for block in region.blocks:
            scope.nodes.extend(_argument(each, {}, scope.owner, values) for each in block.arguments)
            operands = self._block(block, values, scope)
        return [*scope.nodes, DiffNode(RESULT, operands=operands, owner=scope.owner)]

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
            text = _SYMBOL.sub(
                lambda found: self._digest(found[1]) if found[1] in self.functions else found[0],
                text.replace(f"@{name}(", "(", 1),
            )
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
        return self.digests[name]

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


def _argument(
    argument: Any, entries: Mapping[str, str], owner: DiffNode | None, values: _Values
) -> DiffNode:
    described = {"type": str(argument.type), **entries}
    attributes = tuple(sorted(entries.items()))
    node = DiffNode(ARGUMENT, argument.type, attributes, owner=owner, describe=lambda: described)
    values[argument] = node, 0
    return node


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


def _inlined_size(known: Mapping[str, ir.OpView]) -> int:
    """The number of ops if every call is followed."""

    @functools.cache
    def size(name: str) -> int:
        ops = list(walk(known[name].operation))
        calls = (op.attributes["callee"] for op in ops if op.operation.name == _CALL)
        return len(ops) + sum(size(ir.FlatSymbolRefAttr(callee).value) for callee in calls)

    return max(map(size, known), default=0)
