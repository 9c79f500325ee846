"""A pass: a named function on a whole module, with options."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .facts import Facts
from .rule import Rule, kebab
from .statistics import RuleCount


@dataclass(frozen=True)
class Option:
    """An option of a pass: its spelling, the type its text is read as, its default, a hint."""

    name: str
    type: type
    default: Any
    help: str = ""


@dataclass(frozen=True)
class Pass:
    """A pass written in Python. Made by `@module_pass`, or from the rules in a file.

    Attributes:
        name: its spelling on the command line.
        doc: its help.
        options: by spelling.
        function: called with the module's operation, `facts`, and options by parameter name;
            returns the counts of the rules it ran, if it ran any.
        rules: the rules it is made of; empty for a pass that is a plain function.
        source: the function that `@module_pass` was given; None for a pass made of rules. Two
            passes are equal when they come from the same function or the same rules.
    """

    name: str
    doc: str
    options: Mapping[str, Option]
    function: Callable[..., Sequence[RuleCount] | None] = field(compare=False)
    rules: tuple[Rule, ...] = ()
    source: Callable[..., None] | None = None

    @cached_property
    def roots(self) -> frozenset[str] | None:
        """The names of the ops without which it does nothing; None where that is not known."""
        if not self.rules:
            return None
        return frozenset(root for rule in self.rules for root in rule.roots)

    @property
    def options_by_parameter(self) -> dict[str, Option]:
        """The options under the names that `function` takes them by."""
        return {name.replace("-", "_"): option for name, option in self.options.items()}


def module_pass(function: Callable[..., None]) -> Pass:
    """Turn a function on a module's operation into a `Pass`.

    Its name is its spelling on the command line, its keyword-only parameters (with defaults) are
    its options, its docstring its help. A second positional parameter named `facts` receives the
    `Facts` of the run.

    Raises:
        TypeError: the function's signature or docstring is not that of a pass.
    """
    where = f"pass {function.__name__!r}"
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if not positional or positional[1:] not in ([], ["facts"]):
        raise TypeError(f"{where}: expected (module) or (module, facts), then keyword-only options")
    if not inspect.getdoc(function):
        raise TypeError(f"{where}: its docstring is its help; it has none")
    wants_facts = len(positional) == 2

    def call(module: Any, facts: Facts, **options: Any) -> None:
        function(module, *([facts] if wants_facts else []), **options)

    return Pass(
        name=kebab(function.__name__),
        doc=inspect.getdoc(function) or "",
        options=_options(function, parameters, where),
        function=call,
        source=function,
    )


_OPTION_TYPES = (bool, int, float, str)


def _options(
    function: Callable[..., Any], parameters: list[inspect.Parameter], where: str
) -> dict[str, Option]:
    hints = typing.get_type_hints(function)
    options = {}
    for parameter in parameters:
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        kind = hints.get(parameter.name)
        if kind not in _OPTION_TYPES or parameter.default is parameter.empty:
            raise TypeError(
                f"{where}: option {parameter.name!r} needs a default and one of the types "
                "bool, int, float, str"
            )
        name = kebab(parameter.name)
        options[name] = Option(name, kind, parameter.default)
    return options
