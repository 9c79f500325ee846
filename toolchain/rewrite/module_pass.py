"""Passes: named functions on a whole module, with options."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

from ..errors import UsageError
from .rule import Contract, PassContext, Rule, RuleCount, check_parameters, kebab


@dataclass(frozen=True)
class File:
    """A file that an option of a pass names; it must exist when the pipeline is parsed.

    Files of one path are equal if their contents were equal then: JAX keeps the executables of
    equal pipelines.

    Raises:
        UsageError: there is no such file.
    """

    path: str = ""
    _contents: bytes = field(default=b"", init=False)

    def __post_init__(self) -> None:
        if not self.path:
            return
        if not Path(self.path).is_file():
            raise UsageError(f"{self.path}: no such file")
        with suppress(OSError):  # `read` raises
            object.__setattr__(self, "_contents", sha256(Path(self.path).read_bytes()).digest())

    def __repr__(self) -> str:
        return repr(self.path)

    def read(self) -> str:
        """The text of the file now.

        Raises:
            UsageError: the file cannot be read, or is not text in UTF-8.
        """
        try:
            return Path(self.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
            raise UsageError(f"{self.path}: {reason}") from error


@dataclass(frozen=True)
class Option:
    """An option of a pass: its spelling, the type its text is parsed as, its default, its help."""

    name: str
    type: type
    default: Any
    help: str = ""


@dataclass(frozen=True, repr=False)
class Pass:
    """A pass written in Python. Made by `@module_pass`, or of the rules in a file.

    Attributes:
        name: its spelling on the command line.
        doc: its help.
        options: by spelling.
        function: called with the module's operation, `context`, and options by parameter name;
            returns the counts of its rules, or the contract of what it did, or None for `exact`.
        rules: the rules it is made of; empty for a pass that is a plain function.
        changes: the attributes of the module that it may change; other passes must not.
        adds_results: for a pass that may add results to @main, "module:function": the function
            that compiles the program and interprets the added results.
        needs: the names of the ops of which the module must hold one; empty for any module.
        source: the function that `@module_pass` was given; None for a pass made of rules. Two
            passes are equal if they come from the same function or the same rules.
    """

    name: str
    doc: str
    options: Mapping[str, Option]
    function: Callable[..., Sequence[RuleCount] | Contract | None] = field(compare=False)
    rules: tuple[Rule, ...] = ()
    changes: frozenset[str] = frozenset()
    adds_results: str = ""
    needs: frozenset[str] = frozenset()
    source: Callable[..., Contract | None] | None = None

    @cached_property
    def is_of_rules(self) -> bool:
        """Whether it only rewrites the ops that its rules name.

        A pass that is a plain function, and replacements, may rewrite any op.
        """
        return bool(self.rules) and all(rule.roots for rule in self.rules)

    @cached_property
    def untried(self) -> tuple[RuleCount, ...]:
        """The counts of its rules in a run that tries none of them."""
        return tuple(RuleCount(rule.name) for rule in self.rules)

    @cached_property
    def _needed(self) -> dict[str, set[tuple[frozenset[str], ...]]]:
        """What the rules need besides their roots, by the names of these; "" for those without.

        Of each set of names, the module must hold one.
        """
        found: dict[str, set[tuple[frozenset[str], ...]]] = {}
        for each in self.rules:
            for root in each.roots or ("",):
                found.setdefault(root, set()).add(each.needed_names)
        return {root: {()} if () in needed else needed for root, needed in found.items()}

    def may_fire(self, names: frozenset[str]) -> bool:
        """Whether it may change a module whose ops have these names."""
        if not self.rules:
            return not self.needs or not self.needs.isdisjoint(names)
        for root, needed in self._needed.items():
            if root in names or not root:
                for each in needed:
                    if not any(map(names.isdisjoint, each)):
                        return True
        return False

    def __repr__(self) -> str:
        made_of = f", {len(self.rules)} rules" if self.rules else ""
        return f"<jxc pass {self.name}{made_of}: {self.doc.partition(chr(10))[0]}>"


@overload
def module_pass(function: Callable[..., Contract | None]) -> Pass: ...


@overload
def module_pass(
    *, changes: Sequence[str] = (), adds_results: str = "", needs: Sequence[type] = ()
) -> Callable[[Callable[..., Contract | None]], Pass]: ...


def module_pass(
    function: Callable[..., Contract | None] | None = None,
    *,
    changes: Sequence[str] = (),
    adds_results: str = "",
    needs: Sequence[type] = (),
) -> Pass | Callable[[Callable[..., Contract | None]], Pass]:
    """Turn a function on a module's operation into a `Pass`.

    The name of the function is the name of the pass, its docstring is the help, and its
    keyword-only parameters are the options: of type bool, int, float, str or `jxc.rewrite.File`,
    each with a default. A second positional parameter named `context` receives the `PassContext`
    of the run. The pass rewrites the module in place. If it does so by a contract other than
    `exact`, it returns that contract, and `jxc verify` compares by it:

        @jxc.module_pass
        def drop_names(module: Operation, *, prefix: str = "") -> None:
            \"\"\"Remove the attributes whose names start with `prefix`.\"\"\"
            for op in jxc.ir.walk(module):
                ...

    Args:
        function: the function, if the decorator is written without parentheses.
        changes: attributes of the module that the pass changes on purpose, such as
            ("mhlo.num_partitions",). A change of any other is an error.
        adds_results: for a pass that adds results to @main, the function that interprets them, as
            "module:function" (`jxc.backend.extra_results.Reader`). Only `compile()` of jxc runs
            such a program: JAX fixes the number of results when it traces.
        needs: op classes: the pass does nothing in modules without an op of one of them, and is
            skipped. For speed.

    Raises:
        TypeError: the function's signature or docstring is not that of a pass.
    """
    if function is None:
        return lambda each: _pass_of(each, frozenset(changes), adds_results, needs)
    return _pass_of(function, frozenset(changes), adds_results, needs)


def _pass_of(
    function: Callable[..., Contract | None],
    changes: frozenset[str],
    adds_results: str,
    needs: Sequence[type],
) -> Pass:
    where = f"pass {function.__name__!r}"
    expected = "(module) or (module, context), then options after a *: keyword-only, with defaults"
    parameters = inspect.signature(function).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    check_parameters(positional, where, expected)
    if not inspect.getdoc(function):
        raise TypeError(f"{where}: it needs a docstring, which is its help")

    def call(module: Any, context: PassContext, **options: Any) -> Contract | None:
        return function(*[module, context][: len(positional)], **options)

    return Pass(
        name=kebab(function.__name__),
        doc=inspect.getdoc(function) or "",
        options=_options(function, where),
        function=call,
        changes=changes,
        adds_results=adds_results,
        needs=frozenset(getattr(kind, "OPERATION_NAME", "") for kind in needs),
        source=function,
    )


_OPTION_TYPES = (bool, int, float, str, File)


def _options(function: Callable[..., Any], where: str) -> dict[str, Option]:
    hints = typing.get_type_hints(function)
    options = {}
    for parameter in inspect.signature(function).parameters.values():
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


class PassLike:
    """A value that stands for a pass in pipelines, such as a replacement.

    Attributes:
        name: its spelling on the command line.
    """

    name: str

    def as_pass(self) -> Pass:
        """The pass."""
        raise NotImplementedError
