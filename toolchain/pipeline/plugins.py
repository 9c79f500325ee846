"""Passes of other packages, from the group of entry points `jxc.passes`.

    [project.entry-points."jxc.passes"]
    halve = "my_package.halve"          # a module: its rules, or its pass of that name
    tidy = "my_package.others:tidy"     # a pass, a rule or a replacement of that name
    sums = "my_package.sums"            # a module: its passes and replacements by their own names

Reading the entry points takes 20 ms and importing a package any time, so both are done for names
that neither jxc nor MLIR has, and for lists of passes. A package that cannot be imported, or whose
name is taken, is left out with a warning on stderr.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint
from types import ModuleType

from ..errors import JxcError, UsageError
from ..rewrite import Pass, PassLike, Rule, kebab, rule_pass

GROUP = "jxc.passes"


@dataclass(frozen=True)
class Plugins:
    """The passes of installed packages.

    Attributes:
        entries: the entry point of each pass, by its name; nothing is imported yet.
    """

    entries: dict[str, EntryPoint]

    @staticmethod
    def installed(taken: Collection[str]) -> Plugins:
        """The entry points of this environment, without those whose name is in `taken`."""
        from importlib.metadata import entry_points

        entries: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=GROUP), key=_package):
            name = kebab(entry.name)
            owner = "jxc" if name in taken else _package(entries.setdefault(name, entry))
            if owner != _package(entry):
                _warn(f"{_package(entry)}: its pass {name!r} is left out: {owner} has this name")
        return Plugins(entries)

    def find(self, name: str) -> Pass | None:
        """The pass of an entry point, or a pass or a rule in any of them.

        Raises:
            JxcError: the package that provides `name` cannot be imported.
            UsageError: `name` is a module that has no pass of this name.
        """
        if entry := self.entries.get(name):
            found = {each.name: each for each in _load(name, entry)}
            if name not in found:
                raise UsageError(
                    f"{name!r} is a module of {_package(entry)} with several passes: name "
                    f"{' or '.join(found)}"
                )
            return found[name]
        for _, each in self.passes():
            if each.name == name:
                return each
            for rule in each.rules:
                if rule.name == name:
                    return pass_of_one(each, rule)
        return None

    def passes(self) -> Iterator[tuple[str, Pass]]:
        """Each package and each of its passes. Imports them all; warns of those that fail."""
        for name, entry in self.entries.items():
            try:
                for found in _load(name, entry):
                    yield _package(entry), found
            except JxcError as error:
                _warn(str(error))


def _package(entry: EntryPoint) -> str:
    """The name and version of the package of an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "a package"


def _load(name: str, entry: EntryPoint) -> list[Pass]:
    """The pass of an entry point, or the passes in a module that has none of its name."""
    where = f"{_package(entry)}: its pass {name!r} cannot be loaded from {entry.value!r}"
    try:
        value = entry.load()
        found = pass_of(value, name) if isinstance(value, ModuleType) else value
    except (Exception, SystemExit) as error:
        raise JxcError(f"{where}: {_line(error)}{type(error).__name__}: {error}") from error
    if found is None and (several := _passes_in(value)):
        return several
    if not isinstance(found, Pass | Rule | PassLike):
        what = "no rule and no such pass" if found is None else f"a {type(found).__name__}"
        raise JxcError(f"{where}: expected a pass, a rule or a module with rules, found {what}")
    if found.name != name:
        raise JxcError(f"{where}: it is called {found.name!r} there; use one name for both")
    return [as_pass(found)]


def _passes_in(value: object) -> list[Pass]:
    values = vars(value).values() if isinstance(value, ModuleType) else ()
    found = {each.name: each for each in values if isinstance(each, Pass | PassLike)}
    return [as_pass(each) for each in found.values()]


def _line(error: BaseException) -> str:
    """The line on which an import failed, with a colon; empty where it did not reach a file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without this file
    lines = [f"{f.filename}:{f.lineno}: " for f in frames if "importlib" not in f.filename]
    return lines[-1] if lines else ""


@cache
def _warn(problem: str) -> None:
    """Warn of a package once in this process."""
    print(f"jxc: warning: {problem}", file=sys.stderr)


# The passes in a module


def as_pass(given: Pass | Rule | PassLike) -> Pass:
    """A pass as it is, or a pass of one rule or replacement, with its name."""
    if isinstance(given, PassLike):
        return given.as_pass()
    return rule_pass(given.name, given.doc, [given]) if isinstance(given, Rule) else given


def pass_of_one(found: Pass, rule: Rule) -> Pass:
    """A pass of one of the rules or replacements that a pass is made of."""
    if rule.roots:
        return as_pass(rule)
    run = partial(found.function, enable_patterns=rule.name)
    options = {name: each for name, each in found.options.items() if "patterns" not in name}
    return Pass(rule.name, rule.doc, options, run, (rule,))


def pass_of(module: ModuleType, name: str) -> Pass | None:
    """The pass of a file or folder: the `Pass` of its name, or one made of all its rules."""
    own = getattr(module, name.replace("-", "_"), None)
    if isinstance(own, Pass | PassLike):
        return as_pass(own)
    rules = [
        value
        for part in _parts(module)
        for value in vars(part).values()
        if isinstance(value, Rule) and value.function.__module__ == part.__name__
    ]
    doc = module.__doc__ or f"The rules {', '.join(rule.name for rule in rules)}."
    return rule_pass(name, doc.strip(), rules) if rules else None


def _parts(module: ModuleType) -> Iterable[ModuleType]:
    """The files of a pass: the module itself, then the files in its folder by name."""
    yield module
    for info in sorted(pkgutil.iter_modules(getattr(module, "__path__", ())), key=lambda i: i.name):
        yield importlib.import_module(f"{module.__name__}.{info.name}")
