"""The command line of `jxc diff` as two sides, each with a source, specs, a target and a pipeline.

A word is a source if it names a module or a function; the words after it are its specs. A single
source is compared with itself, for two targets or at two levels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError

_FUNCTION = re.compile(
    r"(?:(?P<revision>[^:\s]+):)?(?P<where>[^:\s][^:]*\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)$"
)

LOWERING_OPTIONS = {
    name: f"--{name.removesuffix('_from')}"
    for name in ("args_from", "static", "transform", "x64", "mesh", "sharding")
}
"""Options of `jxc lower` that `jxc diff` has, too, by the name of the parameter."""


@dataclass(frozen=True)
class DiffSide:
    """One program, as the user spelled it.

    Attributes:
        source: a module file, "-", or a function without its revision.
        specs: of the function's arguments.
        revision: the git revision that the function is taken from; empty for the working tree.
        target: what it is compiled for.
        pipeline: the passes that run on it, as text.
    """

    source: str
    specs: tuple[str, ...]
    revision: str
    target: Any
    pipeline: str

    @property
    def is_module(self) -> bool:
        """Whether the source is a module, not a function."""
        return _is_module(self.source) and not self.revision

    @property
    def spelling(self) -> str:
        """The source as the user wrote it."""
        return f"{self.revision}:{self.source}" if self.revision else self.source

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for sides that are read or lowered together."""
        if self.is_module:
            return (self.source,)
        return (self.spelling, *self.specs, self.target.platform)


def make_sides(
    words: Sequence[str], targets: Sequence[Any], pipelines: Sequence[str]
) -> tuple[DiffSide, DiffSide]:
    """The two sides of a command line.

    Args:
        words: sources, each followed by its specs; specs of only one source are used for both.
        targets: one or two.
        pipelines: none, one or two.

    Raises:
        UsageError: there are not two programs to compare.
    """
    for what, given in (("--target", targets), ("pipelines", pipelines)):
        if len(given) > 2:
            raise UsageError(f"{what}: expected one or two, found {len(given)}")
    pairs = _sources(words)
    if len(pairs) == 1 and len(targets) < 2 and len(pipelines) < 2:
        raise UsageError(
            f"expected two programs, or one and two targets or levels; found {pairs[0][0]} alone. "
            "Write `jxc diff A B`, `--target cpu,gpu:h100`, or `-O0 -O2`"
        )
    (one, specs), (other, other_specs) = pairs if len(pairs) == 2 else pairs * 2
    specs, other_specs = specs or other_specs, other_specs or specs
    levels = [pipelines[0], pipelines[-1]] if pipelines else ["", ""]
    return (
        _side(one, specs, targets[0], levels[0]),
        _side(other, other_specs, targets[-1], levels[-1]),
    )


def _side(source: str, specs: tuple[str, ...], target: Any, pipeline: str) -> DiffSide:
    found = _FUNCTION.match(source)
    if found and found["revision"] and not Path(source.rpartition(":")[0]).is_file():
        bare = f"{found['where']}:{found['name']}"
        return DiffSide(bare, specs, found["revision"], target, pipeline)
    return DiffSide(source, () if _is_module(source) else specs, "", target, pipeline)


def _sources(words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Each source with its specs."""
    found: list[tuple[str, list[str]]] = [(words[0], [])]
    for word in words[1:]:
        if _is_module(word) or _FUNCTION.match(word):
            found.append((word, []))
        elif word.endswith(".py"):
            raise UsageError(f"{word} is a file of Python: name a function of it, {word}:FUNCTION")
        else:
            found[-1][1].append(word)
    if len(found) > 2:
        names = ", ".join(name for name, _ in found)
        raise UsageError(f"expected two programs to compare, found {len(found)}: {names}")
    return [(name, tuple(specs)) for name, specs in found]


def _is_module(word: str) -> bool:
    """Whether a word names a module: a file that is not Python. It may be missing."""
    suffixes = (".mlir", ".mlirbc", ".hlo", ".txt", ".stablehlo", ".bin")
    is_spec = word.startswith(("@", "{", "(", "[")) or "=" in word or word.isdigit()
    is_named = word.endswith(suffixes) or Path(word).is_file()
    return word == "-" or (is_named and not is_spec and not word.endswith(".py"))
