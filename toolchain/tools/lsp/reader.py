"""The names in MLIR text: where each is defined, and where it is used.

MLIR's Python bindings give no positions of uses, and nothing at all for a text with a syntax error,
which is what an editor has most of the time. The reader therefore follows brackets and the scopes
of regions over the tokens of one module:

1. Each region has a scope of values and blocks, and each op one for what its header introduces to
   its regions: the arguments of a function, a reducer or a loop. Ops that are isolated from above
   end the search outwards. Modules have a scope of symbols.
2. Names at the left of an op, behind a block's label, and before "=" inside a header are
   definitions.
3. All other names are uses. They are resolved when the whole text is read, because a use may
   precede its definition. A name in the header of an op with regions that no outer scope defines is
   an argument of these regions.
"""

from __future__ import annotations

from dataclasses import dataclass

from .scopes import (
    Definition,
    Kind,
    Occurrence,
    Scope,
    Statement,
    find_symbol,
    find_value,
    nearest,
    symbol_name,
    table_around,
)
from .tokens import Token

_ISOLATED = frozenset({"func", "module", "manual_computation", "named_computation"})
"""The ops, without their dialect, whose regions do not see the values around them."""

_SYMBOL_OPS = frozenset({"func", "module", "mesh", "global", "named_sequence"})
"""The ops, without their dialect, that define the first symbol after their name."""

_WORDS_OF_OPS = frozenset({"module", "func", "return", "call", "unrealized_conversion_cast"})
"""The ops that may be written without their dialect."""


@dataclass
class _Frame:
    """An open bracket; a region has a scope and the op being read."""

    bracket: str
    scope: Scope | None = None
    statement: Statement | None = None
    owner: Statement | None = None
    is_fresh: bool = True  # an op may start anywhere, not only at the start of a line
    is_label: bool = False  # the arguments of a block
    start: int = 0


@dataclass
class _Use:
    token: Token
    scope: Scope
    statement: Statement | None
    is_typed: bool
    path: tuple[str, ...] = ()


class Reader:
    """Reads tokens into definitions, and resolves the uses."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.tokens = text, tokens
        self.definitions: list[Definition] = []
        self.statements: list[Statement] = []
        self.top: list[Statement] = []
        self.uses: list[Occurrence] = []
        self.unresolved: list[Token] = []
        self.aliases: dict[str, list[Definition]] = {}
        root = Scope(symbols={})
        self.frames = [_Frame("{", root)]
        self.regions: list[tuple[int, int, Scope]] = [(-1, len(text), root)]
        self.pending: list[_Use] = []
        self.bound: set[int] = set()  # indices of names that a header defines
        self.region = self.frames[0]

    def read(self) -> None:
        """Fill `definitions`, `statements`, `uses` and `unresolved`."""
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if self.frames[-1] is self.region:
                at = self._start(at, token)
                if at >= len(self.tokens):
                    break
                token = self.tokens[at]
            self._read(at, token)
            if statement := self.region.statement:
                statement.end = max(statement.end, token.end)
            at += 1
        for use in self.pending:
            self._resolve(use)

    # The start of an op

    def _start(self, at: int, token: Token) -> int:
        """Begin an op, a block or an alias at a token, if there is one; the next token to read."""
        begins = token.leads or self.region.is_fresh
        self.region.is_fresh = False
        following = self._kind(at + 1)
        if token.kind == "value":
            return self._start_with_results(at)
        if token.kind == "word":
            if _is_op_word(token, following) and (begins or self._may_begin_inside(at)):
                self._begin(token, token, [])
            return at
        if not begins:
            return at
        if token.kind == "block":
            self._begin_block(token)
            if following == "(":
                self.frames.append(_Frame("(", is_label=True))
                return at + 2
            self.region.is_fresh = True
            return at + 1 + (following == ":")
        if token.kind in ("attribute", "type") and following == "=":
            self._define("alias", token, self.aliases)
            self.region.statement = None
            return at + 2
        if token.kind == "string" and following == "(":
            self._begin(token, token, [])
        return at

    def _may_begin_inside(self, at: int) -> bool:
        """Whether an op may start inside a line: not in `reduce(...) applies stablehlo.add`."""
        token, before = self.tokens[at], self.tokens[at - 1].text if at else ""
        return token.text == "return" or ("." in token.text and before not in ("applies", "="))

    def _begin_block(self, label: Token) -> None:
        assert self.region.scope is not None
        self.region.statement = None
        self._define("block", label, self.region.scope.blocks)

    def _start_with_results(self, at: int) -> int:
        """Begin an op with results, such as `%a, %b:2 = "op"`."""
        statement = self.region.statement
        if statement and statement.op and at and self.tokens[at - 1] is statement.op:
            return at  # `scf.for %i = ...`
        results, behind = self._results(at)
        if not results:
            return at
        op = self.tokens[behind] if behind < len(self.tokens) else None
        if op and op.kind not in ("string", "word"):
            op = None
        self._begin(self.tokens[at], op, results)
        return behind

    def _results(self, at: int) -> tuple[list[tuple[Token, int]], int]:
        """The tokens and counts before "=" and the index behind it; none if there is no "="."""
        found: list[tuple[Token, int]] = []
        while self._kind(at) == "value":
            token, count = self.tokens[at], 1
            at += 1
            if self._kind(at) == ":":
                until = self.tokens[at + 1].start if at + 1 < len(self.tokens) else len(self.text)
                number = self.text[self.tokens[at].end : until].strip()
                count = int(number) if number.isdecimal() else 1
                at += 1
            found.append((token, count))
            if self._kind(at) == "=":
                return found, at + 1
            if self._kind(at) != ",":
                break
            at += 1
        return [], at

    def _begin(self, first: Token, op: Token | None, results: list[tuple[Token, int]]) -> None:
        assert self.region.scope is not None
        inner = Scope(self.region.scope)
        owner = self.region.owner
        end = op.end if op else first.end
        statement = Statement(first.start, end, -1, op, inner, [], owner)
        inner.is_isolated = statement.short_name in _ISOLATED
        if owner:
            owner.children.append(statement)
        else:
            self.top.append(statement)
        self.statements.append(statement)
        self.region.statement = statement
        number = 0
        for token, count in results:
            made = self._define("value", token, self.region.scope.values, statement)
            made.is_result, made.first, made.count = True, number, count
            statement.results.append(made)
            number += count

    # Other tokens

    def _read(self, at: int, token: Token) -> None:
        match token.kind:
            case "(" | "[":
                self._find_bound(at)
                self.frames.append(_Frame(token.kind))
            case "{":
                self._open_brace(at, token)
            case ")" | "]" | "}":
                self._close(token)
            case "value":
                self._read_value(at, token)
            case "symbol":
                self._read_symbol(at, token)
            case "block" | "attribute" | "type":
                self._use(token)
            case "word" if token.text == "sym_name" and self._kind(at + 1) == "=":
                self._read_name(at + 2)

    def _open_brace(self, at: int, token: Token) -> None:
        if not self._is_region(at):
            self.frames.append(_Frame("{"))
            return
        statement, outer = self.region.statement, self.region.scope
        scope = Scope(statement.inner if statement else outer)
        if statement is None or statement.short_name == "module":
            scope.symbols = {}
        if statement:
            if not statement.has_regions:
                statement.header_end = token.start
            statement.has_regions = True
        self.region = _Frame("{", scope, owner=statement, start=token.start)
        self.frames.append(self.region)

    def _is_region(self, at: int) -> bool:
        """Whether "{" opens a region, not attributes: by what follows."""
        first, second = self._kind(at + 1), self._kind(at + 2)
        if first == "word" and self.tokens[at + 1].text == "return":
            return True
        match first:
            case "value" | "block":
                return True
            case "string":
                return second == "("
            case "word":
                return second not in ("=", ",", "}", ":", "")
            case "}":
                return self._kind(at - 1) not in ("=", ",", "[", "{", "")
        return False

    def _close(self, token: Token) -> None:
        """Close the innermost bracket of a kind; one without an opening bracket is skipped."""
        opening = {")": "(", "]": "[", "}": "{"}[token.kind]
        for depth in range(len(self.frames) - 1, 0, -1):
            frame = self.frames[depth]
            if frame.bracket == opening:
                break
            if frame.scope is not None:
                return  # another bracket does not close a region
        else:
            return
        closed = self.frames[depth:]
        del self.frames[depth:]
        for frame in closed:
            if frame.scope is not None:
                self.regions.append((frame.start, token.start, frame.scope))
        self.region = next(each for each in reversed(self.frames) if each.scope is not None)
        if closed[0].is_label:
            self.region.is_fresh = True

    def _find_bound(self, at: int) -> None:
        """Mark the names of `(%i, %j) = ...`, which are definitions."""
        inside, end = [], at + 1
        while self._kind(end) in ("value", ","):
            inside += [end] * (self._kind(end) == "value")
            end += 1
        if self._kind(end) == ")" and self._kind(end + 1) == "=":
            self.bound.update(inside)

    def _read_value(self, at: int, token: Token) -> None:
        statement, scope = self.region.statement, self.region.scope
        assert scope is not None
        frame, following = self.frames[-1], self._kind(at + 1)
        if frame.is_label and following == ":":
            self._define("value", token, scope.values)
        elif statement and (at in self.bound or (following == "=" and "#" not in token.text)):
            self._define("value", token, statement.inner.values, statement)
        else:
            self._use(token, is_typed=following == ":" and frame.bracket == "(")

    def _read_symbol(self, at: int, token: Token) -> None:
        statement = self.region.statement
        if (
            statement
            and self.frames[-1] is self.region
            and statement.symbol is None
            and statement.short_name in _SYMBOL_OPS
        ):
            self._define_symbol(statement, token.text, token.start, token.end)
            return
        path = [symbol_name(token.text)]
        while self._kind(at - 1) == "::" and self._kind(at - 2) == "symbol":
            at -= 2
            path.insert(0, symbol_name(self.tokens[at].text))
        self._use(token, path=tuple(path))

    def _read_name(self, at: int) -> None:
        """Read the symbol of an op in generic form: `sym_name = "f"`."""
        statement = self.region.statement
        if statement and statement.symbol is None and self._kind(at) == "string":
            token = self.tokens[at]
            name = f"@{token.text.strip(chr(34))}"
            self._define_symbol(statement, name, token.start + 1, token.end - 1)

    def _define_symbol(self, statement: Statement, name: str, start: int, end: int) -> None:
        made = Definition("symbol", symbol_name(name), start, end, statement)
        statement.symbol = made
        self.definitions.append(made)
        table = table_around(self.region.scope)
        table.setdefault(made.name, []).append(made)

    # Names

    def _kind(self, at: int) -> str:
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def _define(
        self,
        kind: Kind,
        token: Token,
        names: dict[str, list[Definition]],
        statement: Statement | None = None,
    ) -> Definition:
        made = Definition(kind, token.text, token.start, token.end, statement)
        names.setdefault(made.name, []).append(made)
        self.definitions.append(made)
        return made

    def _use(self, token: Token, *, is_typed: bool = False, path: tuple[str, ...] = ()) -> None:
        assert self.region.scope is not None
        use = _Use(token, self.region.scope, self.region.statement, is_typed, path)
        self.pending.append(use)

    def _resolve(self, use: _Use) -> None:
        token = use.token
        name, _, number = token.text.partition("#") if token.kind == "value" else (token.text,) * 3
        found = self._definition_of(use, name)
        if found is None:
            if token.kind in ("value", "block"):
                self.unresolved.append(token)
            return
        if found.start == token.start:
            return
        found.uses.append((token.start, token.end))
        at = int(number) if token.kind == "value" and number else None
        self.uses.append(Occurrence(token.start, token.end, found, at))

    def _definition_of(self, use: _Use, name: str) -> Definition | None:
        match use.token.kind:
            case "symbol":
                return find_symbol(use.scope, use.path)
            case "block":
                return nearest(use.scope.blocks.get(name, []), use.token.start)
            case "attribute" | "type":
                return nearest(self.aliases.get(name, []), use.token.start)
        statement = use.statement
        found = find_value(use.scope, name, use.token.start)
        if statement is None or not (statement.has_regions or statement.inner.is_isolated):
            return found
        if name in statement.inner.values:
            return statement.inner.values[name][0]
        is_new = found is None or found.start > use.token.start or statement.inner.is_isolated
        if found is None or (use.is_typed and is_new):
            return self._define("value", use.token, statement.inner.values, statement)
        return found


def _is_op_word(token: Token, following: str) -> bool:
    return ("." in token.text or token.text in _WORDS_OF_OPS) and following != "="
