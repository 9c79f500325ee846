"""Passes by name: those of `jxc.passes`, a user's, those of other packages, and single rules.

A file or folder `passes/foo_bar` is the pass `foo-bar`: the `Pass` of that name in it, or a pass
made of all its rules, in order of file name and definition. Nothing is registered. Passes of other
packages are in `plugins`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from .. import importing
from ..errors import UsageError
from ..rewrite import Pass, PassLike, Rule, kebab
from ..rewrite.former_names import current_name
from .levels import LEVELS
from .native import NATIVE_PASSES
from .plugins import Plugins, as_pass, pass_of, pass_of_one

_OURS = "jxc.passes"


@dataclass(frozen=True)
class Library:
    """Where names of passes are looked up: the user's first, then jxc's.

    Attributes:
        loaded: passes and rules from `--load-pass` files or from Python, by name.
        files: the arguments of `--load-pass`, for reproducers.
    """

    loaded: dict[str, Pass] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @staticmethod
    def of_files(arguments: Sequence[str]) -> Library:
        """A library with the passes and rules in the files of `--load-pass`; see `load_passes`."""
        loaded: dict[str, Pass] = {}
        for argument in arguments:
            loaded.update(load_passes(argument))
        return Library(loaded, tuple(arguments))

    def find(self, name: str) -> Pass | None:
        """The Python pass called `name`, or the loaded rule of that name as a pass."""
        return self.loaded.get(name) or _our_pass(name)

    def find_slowly(self, name: str) -> Pass | None:
        """The slower rest of the search: former names, single rules of jxc, then other packages.

        Raises:
            JxcError: a package provides the name and cannot be imported.
        """
        if (current := current_name(name)) != name:
            return self.find(current) or self.find_slowly(current)
        for found in our_passes():
            for rule in found.rules:
                if rule.name == name:
                    return pass_of_one(found, rule)
        return plugins().find(name)

    def names(self) -> list[str]:
        """The name of every Python pass and rule, to suggest close ones."""
        passes = [*self.loaded.values(), *our_passes()]
        own = [p.name for p in passes] + [rule.name for p in passes for rule in p.rules]
        return own + list(plugins().entries)


def our_passes() -> list[Pass]:
    """Every pass in `jxc.passes`, in order of name. Imports them all."""
    package = importlib.import_module(_OURS)
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    found = [_our_pass(kebab(name)) for name in names if not name.startswith("_")]
    return [each for each in found if each is not None]


def plugins() -> Plugins:
    """The passes of installed packages, whose names must not be those of jxc or MLIR."""
    names = {name for p in our_passes() for name in (p.name, *(rule.name for rule in p.rules))}
    return Plugins.installed(names | NATIVE_PASSES.keys() | LEVELS.keys())


def _our_pass(name: str) -> Pass | None:
    module_name = f"{_OURS}.{name.replace('-', '_')}"
    if not name.replace("-", "_").isidentifier() or importlib.util.find_spec(module_name) is None:
        return None
    return pass_of(importlib.import_module(module_name), name)


def load_passes(argument: str) -> dict[str, Pass]:
    """The passes and rules in a user's file, by name.

    Args:
        argument: `file.py`, or `file.py:name` for one of them.

    Raises:
        UsageError: there is no such file or name, or the file has no pass and no rule.
        ImportFailure: importing the file failed; the message names the line.
    """
    path, _, wanted = argument.partition(":")
    module = import_option_file(Path(path))
    values = [value for value in vars(module).values() if isinstance(value, Pass | Rule | PassLike)]
    found = {value.name: as_pass(value) for value in values}
    if not found:
        raise UsageError(
            f"{path} has no pass and no rule: decorate a function on the module with "
            "@jxc.module_pass, or a function from an op to its replacement with "
            "@jxc.rule(jxc.exact)"
        )
    if wanted and kebab(wanted) not in found:
        raise UsageError(f"{path}: no pass or rule {wanted!r}; it has {', '.join(sorted(found))}")
    return {kebab(wanted): found[kebab(wanted)]} if wanted else found


def import_option_file(path: Path, option: str = "--load-pass") -> ModuleType:
    """The module of a file that an option names.

    Raises:
        UsageError: there is no such file, or it is not Python source.
        ImportFailure: importing it failed; the message names the line.
    """
    if not path.is_file():
        raise UsageError(f"{option}: no file {str(path)!r}; expected FILE.py or FILE.py:NAME")
    return importing.import_file(path, isolated=True)
