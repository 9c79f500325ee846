"""The checks: functions from a program to findings, found by looking into `checks/`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ...errors import UsageError, did_you_mean
from .finding import Finding
from .program import Program

CheckFunction = Callable[[Program], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One kind of finding.

    Attributes:
        name: its spelling, such as "gather-as-slice".
        doc: what is found and why it matters.
        needs_compiler: whether it reads what a compiler made of the program.
        function: from a program to findings, whose names are filled in here.
    """

    name: str
    doc: str
    needs_compiler: bool
    function: CheckFunction

    def run(self, program: Program) -> list[Finding]:
        """What it finds, each line once."""
        found = [replace(each, name=self.name) for each in self.function(program)]
        return list({(each.place, each.message): each for each in found}.values())


def check(function: CheckFunction) -> Check:
    """Make a check of a function; its name and its docstring are the check's."""
    return _check(function, needs_compiler=False)


def compiled_check(function: CheckFunction) -> Check:
    """The same, of one that reads what a compiler made of the program."""
    return _check(function, needs_compiler=True)


def _check(function: CheckFunction, *, needs_compiler: bool) -> Check:
    name = function.__name__.replace("_", "-")
    return Check(name, inspect.getdoc(function) or "", needs_compiler, function)


@cache
def all_checks() -> dict[str, Check]:
    """Every check by name, in order of their names."""
    package = importlib.import_module(f"{__package__}.checks")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = {c.name: c for m in modules for c in vars(m).values() if isinstance(c, Check)}
    return dict(sorted(found.items()))


def choose_checks(only: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Check]:
    """The checks to run.

    Args:
        only: names of those to run; all where there are none.
        ignore: names of those to leave out.

    Raises:
        UsageError: there is no check of a name.
    """
    known = all_checks()
    for name in (*only, *ignore):
        if name not in known:
            raise UsageError(
                f"no finding is called {name!r}.{did_you_mean(name, list(known))} "
                "`jxc doctor --list` tells them all."
            )
    return [c for name, c in known.items() if name not in ignore and (not only or name in only)]
