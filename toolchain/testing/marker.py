"""What a marked test makes JAX compile, and whether that keeps to the marker's budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..tools.explain.log import explain
from ..tools.explain.records import Compilation
from .budgets import BudgetExceeded, Limits, Program, exceeded

_NAMED = 5  # programs in a message
_MOST_LETTERS = 100  # of a program's arguments


class Watch:
    """Records what is compiled while it is entered.

    Args:
        marks: positional and keyword arguments of each marker, the innermost last: it counts where
            several say the same.

    Raises:
        UsageError: a budget that there is none of, or that cannot be understood.
    """

    def __init__(self, marks: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]]) -> None:
        given: dict[str, Any] = {}
        for positional, named in marks:
            if positional:
                raise UsageError(f"expected names, such as compiles=1; found {positional[0]!r}")
            given |= named
        self._eager = given.pop("eager", False)
        self._exactly = given.pop("compiles", None)
        self._at_most = given.pop("max_compiles", None)
        self._limits = Limits.parse(given, others=("compiles", "max_compiles", "eager"))
        if not given and self._exactly is None and self._at_most is None:
            raise UsageError("there is no budget in it: give one, such as compiles=1")
        self._explain = explain(keep_texts=bool(given))
        self._compiled: list[Compilation] = []

    def __enter__(self) -> None:
        self._log = self._explain.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._explain.__exit__(*exc)
        found = self._log.compilations
        self._compiled = [c for c in found if c.is_compiled and (self._eager or not c.is_eager)]

    def check(self) -> None:
        """See that the budgets were kept.

        Raises:
            BudgetExceeded: one was not, or nothing was compiled that could have exceeded it.
        """
        wrong = [*self._miscounted()]
        for each in self._compiled:
            wrong += exceeded(self._limits, _program(each))
        if wrong:
            raise BudgetExceeded("\n".join(wrong))

    def _miscounted(self) -> Sequence[str]:
        count = len(self._compiled)
        if count == 0 and self._exactly != 0:
            return [_NOTHING]
        if self._exactly is not None and count != self._exactly:
            return [f"expected {_programs(self._exactly)}, found {count}", *self._named()]
        if self._at_most is not None and count > self._at_most:
            return [f"expected at most {_programs(self._at_most)}, found {count}", *self._named()]
        return []

    def _named(self) -> Sequence[str]:
        lines = []
        for each in self._compiled[:_NAMED]:
            where = f" at {each.called}" if each.called else ""
            types = ", ".join(f"{name}: {type_}" for name, type_ in each.arguments.items())
            types = types if len(types) <= _MOST_LETTERS else f"{types[: _MOST_LETTERS - 1]}…"
            lines.append(f"  {each.number}. {each.function}({types}){where}")
            lines += [f"     {each.reason.sentence}. {each.reason.fix}"] if each.reason else []
        left = len(self._compiled) - _NAMED
        return [*lines, f"  and {left} more"] if left > 0 else lines


def _programs(count: int) -> str:
    named = {0: "no program", 1: "one program"}
    return f"{named.get(count, f'{count} programs')} to be compiled"


_NOTHING = (
    "nothing was compiled while the test ran, so that no budget could be exceeded: the function "
    "was compiled before (jax.clear_caches() forgets), or is not called under jit here. compiles=0 "
    "says that this is what is wanted"
)


def _program(each: Compilation) -> Program:
    """What was recorded of a compilation, to hold against budgets."""
    texts = each.texts
    where = f" (called at {each.called})" if each.called else ""
    return Program(
        f"{each.function}{where}",
        ops=each.ops,
        peak_bytes=each.peak_bytes,
        temporary_bytes=each.temporary_bytes,
        stablehlo=texts.stablehlo if texts else "",
        hlo=texts.hlo if texts else "",
    )
