"""The marker `@pytest.mark.jxc(...)`: checks the programs that a test compiles against budgets.

Which programs JAX compiles in a test depends on the entries of its caches from earlier tests. To
give a test the same result alone, after others, and on any worker of xdist, each test runs under a
new value of a JAX user context. This value is part of JAX's cache keys: no entry from outside the
test is a hit in it, on any thread, and the entries of other tests stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jax

from ..backend.targets import find_target
from ..compiled.program import read_optimised
from ..errors import UsageError
from ..tools.explain.compilations import Compilation
from ..tools.explain.log import explain, wrong_count
from ..tools.report.budgets import Budgets, Measured, check
from .budgets import BudgetExceeded


class MarkedTest:
    """The budgets of one marked test; as a context manager, it records what the test compiles.

    Args:
        marks: positional and keyword arguments of each marker, the innermost last; where several
            markers give the same budget, the innermost counts.

    Raises:
        UsageError: a budget has an unknown name or a value that cannot be parsed.
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
        self._budgets = Budgets.parse(given, others=("compiles", "max_compiles", "eager"))
        if not given and self._exactly is None and self._at_most is None:
            raise UsageError("the marker has no budget: give one, such as compiles=1")
        self._explain = explain(keep_texts=bool(given))
        self._compiled: list[Compilation] = []
        self._outer_test: int | None = None

    def __enter__(self) -> None:
        self._log = self._explain.__enter__()
        context = test_context()
        self._outer_test = context.get_global()
        context.set_global(next(_test_numbers))

    def __exit__(self, *exc: Any) -> None:
        test_context().set_global(self._outer_test)
        self._explain.__exit__(*exc)
        found = self._log.compilations
        self._compiled = [c for c in found if c.is_compiled and (self._eager or not c.is_eager)]

    def check(self) -> None:
        """Check the recorded programs against the budgets.

        Raises:
            BudgetExceeded: a budget is exceeded, or the test compiled nothing and does not say
                `compiles=0`.
        """
        problems = wrong_count(self._compiled, self._exactly, self._at_most)
        if not self._compiled and self._exactly != 0:
            problems = [
                "the test compiled nothing under jax.jit, so its budgets checked nothing. Call the "
                "jitted function in the test, not in a fixture only; or say compiles=0 if nothing "
                "should be compiled"
            ]
        for each in self._compiled:
            called = f" (called at {each.called})" if each.called else ""
            measured = Measured(
                read_optimised(each.hlo, find_target("cpu")),
                each.ops,
                each.peak_bytes,
                each.temporary_bytes,
                stablehlo=each.texts.stablehlo if each.texts else "",
            )
            exceeded = check(self._budgets, measured)
            problems += [f"{each.function}{called}: {problem}" for problem in exceeded]
        if problems:
            raise BudgetExceeded("\n".join(problems))


_test_numbers = itertools.count(1)


@cache
def test_context() -> Any:
    """The JAX user context whose value is the number of the running marked test.

    Creating it changes JAX's cache keys: earlier programs are compiled once more.
    """
    return jax.make_user_context(None)
