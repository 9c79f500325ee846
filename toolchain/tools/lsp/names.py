"""The names of one module's text, by position."""

from __future__ import annotations

from bisect import bisect_right

from .reader import Reader
from .scopes import Definition, Kind, Occurrence, Scope, Statement
from .tokens import tokens_of


class Names:
    """The names and the ops of one module's text.

    Attributes:
        statements: the ops at top level.
        definitions: every definition, in the order of the text.
        unresolved: the uses of values and blocks without a definition.
    """

    def __init__(self, text: str) -> None:
        reader = Reader(text, list(tokens_of(text)))
        reader.read()
        self.statements = reader.top
        self.definitions = sorted(reader.definitions, key=lambda each: each.start)
        self.unresolved = reader.unresolved
        self._regions = reader.regions
        self._ops = {each.op.start: each for each in reader.statements if each.op}
        at = [Occurrence(each.start, each.end, each) for each in self.definitions]
        self.occurrences = sorted(at + reader.uses, key=lambda each: each.start)
        self._op_starts = sorted(self._ops)
        self._starts = [each.start for each in self.occurrences]

    def at(self, offset: int) -> Occurrence | None:
        """The occurrence of a name that holds or ends at an offset."""
        index = bisect_right(self._starts, offset) - 1
        found = self.occurrences[index] if index >= 0 else None
        return found if found and offset <= found.end else None

    def op_at(self, offset: int) -> Statement | None:
        """The op whose name holds or ends at an offset."""
        index = bisect_right(self._op_starts, offset) - 1
        found = self._ops[self._op_starts[index]] if index >= 0 else None
        return found if found and found.op and offset <= found.op.end else None

    def visible(self, offset: int, kind: Kind) -> list[Definition]:
        """What a name of some kind may stand for at an offset, the innermost first."""
        if kind == "alias":
            return [each for each in self.definitions if each.kind == "alias"]
        around = [each for each in self._regions if each[0] < offset <= each[1]]
        scope: Scope | None = max(around, default=self._regions[0], key=lambda each: each[0])[2]
        found: list[Definition] = []
        while scope is not None:
            names = scope.symbols if kind == "symbol" else getattr(scope, f"{kind}s")
            found += [each[0] for each in (names or {}).values()]
            scope = None if scope.is_isolated and kind != "symbol" else scope.parent
        return found
