"""A pass: a named function on a whole module, with options."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from ..errors import UsageError
from .context import PassContext
from .former_names import warn_renamed
from .rule import Rule, kebab
from .statistics import RuleCount


@dataclass(frozen=True)
class File:
    """A file that an option names: it must be there when the pipeline is read.

    A pass is given this value and asks for the text; what a path is, it does not know.

    Raises:
        UsageError: there is no such file.
    """

    path: str = ""

    def __post_init__(self) -> None:
        if self.path and not Path(self.path).is_file():
            raise UsageError(f"{self.path}: no such file")

    def __repr__(self) -> str:
        return repr(self.path)

    def read(self) -> str:
        """Its text as it is now.

        Raises:
            UsageError: it cannot be read, or is no text.
        """
        try:
            return Path(self.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
            raise UsageError(f"{self.path}: {reason}") from error


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
        function: called with the module's operation, `context`, and options by parameter name;
            returns the counts of the rules it ran, if it ran any.
        rules: the rules it is made of; empty for a pass that is a plain function.
        changes: the attributes of the module that it may change, which are nobody else's to touch.
        adds_results: "module:function" where it may let @main return more, after what it returns
            already: the function compiles the program and interprets the added results.
        source: the function that `@module_pass` was given; None for a pass made of rules. Two
            passes are equal when they come from the same function or the same rules.
    """

    name: str
    doc: str
    options: Mapping[str, Option]
    function: Callable[..., Sequence[RuleCount] | None] = field(compare=False)
    rules: tuple[Rule, ...] = ()
    changes: frozenset[str] = frozenset()
    adds_results: str = ""
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


@overload
def module_pass(function: Callable[..., None]) -> Pass: ...


@overload
def module_pass(
    *, changes: Sequence[str] = (), adds_results: str = ""
) -> Callable[[Callable[..., None]], Pass]: ...


def module_pass(
    function: Callable[..., None] | None = None,
    *,
    changes: Sequence[str] = (),
    adds_results: str = "",
) -> Pass | Callable[[Callable[..., None]], Pass]:
    """Turn a function on a module's operation into a `Pass`.

    Its name is its spelling on the command line, its keyword-only parameters (with defaults) are
    its options, its docstring its help. A second positional parameter named `context` receives the
    `PassContext` of the run. A pass that changes attributes of the module on purpose names them:
    `@module_pass(changes=("mhlo.num_partitions",))`; to others they are what must hold. One that
    adds results to @main names the function that interprets them, `adds_results="module:function"`
    (`jxc.backend.extra_results.Reader`); only jxc's own compile runs it, since JAX settles how many
    results a program returns.

    Raises:
        TypeError: the function's signature or docstring is not that of a pass.
    """
    if function is None:
        return lambda each: _pass_of(each, frozenset(changes), adds_results)
    return _pass_of(function, frozenset(changes), adds_results)


def _pass_of(function: Callable[..., None], changes: frozenset[str], adds_results: str) -> Pass:
    where = f"pass {function.__name__!r}"
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if positional[1:] == ["facts"]:
        warn_renamed(f"{where}: the parameter `facts`", "`context`", stacklevel=4)
    elif not positional or positional[1:] not in ([], ["context"]):
        raise TypeError(
            f"{where}: expected (module) or (module, context), then keyword-only options"
        )
    if not inspect.getdoc(function):
        raise TypeError(f"{where}: its docstring is its help; it has none")
    wants_context = len(positional) == 2

    def call(module: Any, context: PassContext, **options: Any) -> None:
        function(module, *([context] if wants_context else []), **options)

    return Pass(
        name=kebab(function.__name__),
        doc=inspect.getdoc(function) or "",
        options=_options(function, parameters, where),
        function=call,
        changes=changes,
        adds_results=adds_results,
        source=function,
    )


_OPTION_TYPES = (bool, int, float, str, File)


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
                "bool, int, float, str, File"
            )
        name = kebab(parameter.name)
        options[name] = Option(name, kind, parameter.default)
    return options
