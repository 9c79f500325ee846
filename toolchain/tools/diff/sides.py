"""What `jxc diff` is given, as two sides: a source, its specs, a target and a pipeline each."""

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


@dataclass(frozen=True)
class Side:
    """One program, as the user spelled it.

    Attributes:
        source: a file of a module, "-", or a function without its revision.
        specs: of its arguments.
        revision: git's name of the revision that the function is taken from; empty for the files
            as they are.
        target: what it is compiled for.
        pipeline: what runs on it first, as text.
    """

    source: str
    specs: tuple[str, ...]
    revision: str
    target: Any
    pipeline: str

    @property
    def is_module(self) -> bool:
        """Whether it names a module, not a function."""
        return _is_module(self.source) and not self.revision

    @property
    def spelling(self) -> str:
        """As the user wrote it."""
        return f"{self.revision}:{self.source}" if self.revision else self.source

    @property
    def lowering(self) -> tuple[str, ...]:
        """Equal for sides that are lowered once."""
        return (self.spelling, *self.specs, self.target.platform)


def make_sides(
    words: Sequence[str], targets: Sequence[Any], pipelines: Sequence[str]
) -> tuple[Side, Side]:
    """The two sides of a command line.

    Args:
        words: sources, each perhaps followed by specs; specs of one alone are of both.
        targets: one or two.
        pipelines: none, one or two.

    Raises:
        UsageError: there are not two things to compare.
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


def _side(source: str, specs: tuple[str, ...], target: Any, pipeline: str) -> Side:
    found = _FUNCTION.match(source)
    if found and found["revision"] and not Path(source.rpartition(":")[0]).is_file():
        bare = f"{found['where']}:{found['name']}"
        return Side(bare, specs, found["revision"], target, pipeline)
    return Side(source, () if _is_module(source) else specs, "", target, pipeline)


def _sources(words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Each source with the specs behind it."""
    found: list[tuple[str, list[str]]] = [(words[0], [])]
    for word in words[1:]:
        if _is_source(word):
            found.append((word, []))
        else:
            found[-1][1].append(word)
    if len(found) > 2:
        names = ", ".join(name for name, _ in found)
        raise UsageError(f"expected two programs to compare, found {len(found)}: {names}")
    return [(name, tuple(specs)) for name, specs in found]


def _is_source(word: str) -> bool:
    return _is_module(word) or bool(_FUNCTION.match(word))


def _is_module(word: str) -> bool:
    """Whether a word names a module: a file that is not Python's, which may be missing."""
    suffixes = (".mlir", ".mlirbc", ".hlo", ".txt", ".stablehlo", ".bin")
    is_spec = word.startswith(("@", "{", "(", "[")) or "=" in word or word.isdigit()
    is_named = word.endswith(suffixes) or Path(word).is_file()
    return word == "-" or (is_named and not is_spec and not word.endswith(".py"))
