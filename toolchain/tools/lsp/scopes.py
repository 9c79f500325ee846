"""What the names in MLIR text stand for: scopes, ops in the text, definitions and their uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .tokens import Token

Kind = Literal["value", "block", "symbol", "alias"]


@dataclass(eq=False)
class Scope:
    """What the names in a region, or in the header of an op, stand for."""

    parent: Scope | None = None
    is_isolated: bool = False
    values: dict[str, list[Definition]] = field(default_factory=dict)
    blocks: dict[str, list[Definition]] = field(default_factory=dict)
    symbols: dict[str, list[Definition]] | None = None  # None where the op is no symbol table


@dataclass(eq=False)
class Statement:
    """An op in the text.

    Attributes:
        start: its first character.
        end: the offset after its last.
        header_end: the offset of its first region, or `end`.
        op: the token with its name; None where there is none yet.
        inner: the names that its header introduces to its regions.
        results: the definitions of its results.
        symbol: the definition of its symbol.
        parent: the op around it.
        children: the ops in its regions.
    """

    start: int
    end: int
    header_end: int
    op: Token | None
    inner: Scope
    results: list[Definition]
    parent: Statement | None
    symbol: Definition | None = None
    has_regions: bool = False
    children: list[Statement] = field(default_factory=list)

    @property
    def op_name(self) -> str:
        """The name of the op; "" where there is none yet."""
        return self.op.text.strip('"') if self.op else ""

    @property
    def short_name(self) -> str:
        """The name of the op without its dialect."""
        return self.op_name.rpartition(".")[2]


@dataclass(eq=False)
class Definition:
    """The definition of a name.

    Attributes:
        kind: what the name stands for.
        name: with its sigil, without a result number.
        start, end: where the name is written.
        statement: the op that defines it, or whose region has it as an argument.
        is_result: whether it is a result of that op.
        first: the number of its first result.
        count: how many results the name stands for.
        uses: the offsets of its uses, in order.
    """

    kind: Kind
    name: str
    start: int
    end: int
    statement: Statement | None = None
    is_result: bool = False
    first: int = 0
    count: int = 1
    uses: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Occurrence:
    """A definition or use of a name in the text; `number` is that of `%0#1`."""

    start: int
    end: int
    definition: Definition
    number: int | None = None


# Looking up names


def symbol_name(text: str) -> str:
    """`@f` for `@f` and `@"f"`."""
    return f"@{text[2:-1]}" if text.startswith('@"') else text


def nearest(found: list[Definition], offset: int) -> Definition | None:
    """The last definition before an offset; the first one if all come later."""
    before = [each for each in found if each.start <= offset]
    return before[-1] if before else next(iter(found), None)


def find_value(scope: Scope | None, name: str, offset: int) -> Definition | None:
    """The value of a name at an offset in a scope, or in one around it."""
    while scope is not None:
        if name in scope.values:
            return nearest(scope.values[name], offset)
        scope = None if scope.is_isolated else scope.parent
    return None


def table_around(scope: Scope | None) -> dict[str, list[Definition]]:
    """The symbols of the innermost module around a scope."""
    while scope is not None and scope.symbols is None:
        scope = scope.parent
    assert scope is not None and scope.symbols is not None  # the outermost has one
    return scope.symbols


def find_symbol(scope: Scope | None, path: tuple[str, ...]) -> Definition | None:
    """The symbol of a path such as `@module::@function`, searched from the innermost module."""
    while scope is not None:
        if scope.symbols and path[0] in scope.symbols:
            return _member(scope.symbols[path[0]][0], path[1:])
        scope = scope.parent
    return None


def _member(symbol: Definition, path: tuple[str, ...]) -> Definition | None:
    for name in path:
        children = symbol.statement.children if symbol.statement else []
        inside = [each.symbol for each in children if each.symbol and each.symbol.name == name]
        if not inside:
            return None
        symbol = inside[0]
    return symbol
