"""What a page shows, as plain values: `jxc explain` and `jxc diff` fill these in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...source import SourceLine


@dataclass(frozen=True)
class ProgramTexts:
    """The text of one program at each stage of its compilation.

    Attributes:
        jaxpr: JAX's own value; None if the program was not traced.
        stablehlo: the module that JAX lowered, printed with locations; empty if there is none.
        passes: the name of each jxc pass that changed the module, and the module after it.
        hlo: the optimized HLO, with metadata; empty if the program was not compiled.
    """

    jaxpr: Any = None
    stablehlo: str = ""
    passes: tuple[tuple[str, str], ...] = ()
    hlo: str = ""

    def __bool__(self) -> bool:
        return self.jaxpr is not None or bool(self.stablehlo or self.hlo)


@dataclass(frozen=True)
class PageEntry:
    """One program in the list and the timeline of a page.

    Attributes:
        number: the entry's number on the page, which links use.
        title: the name of the function.
        seconds: by stage, in order.
        started: seconds from the start of the timeline.
        called: the user's line that called the function.
        defined: the line on which the function is defined.
        arguments: types of arguments and values of static ones, in one line.
        reason: why the function was compiled again; empty for its first compilation.
        fix: what the user can do about that.
        nearest: the number of the entry that `reason` compares with; 0 if there is none.
        ops: StableHLO ops; None if unknown, like the next three.
        flops: of one run.
        peak_bytes: memory in use at the peak.
        temporary_bytes: the part of it that is neither argument nor result.
        cache_key: of JAX's persistent cache; empty if that is off.
        from_cache: whether the executable came from the persistent cache.
        is_eager: whether it is a single JAX operation, called outside of any jit.
        texts: the program at each stage; None if they were not recorded.
    """

    number: int
    title: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    started: float = 0.0
    called: SourceLine | None = None
    defined: SourceLine | None = None
    arguments: str = ""
    reason: str = ""
    fix: str = ""
    nearest: int = 0
    ops: int | None = None
    flops: float | None = None
    peak_bytes: int | None = None
    temporary_bytes: int | None = None
    cache_key: str = ""
    from_cache: bool = False
    is_eager: bool = False
    texts: ProgramTexts | None = None

    @property
    def total(self) -> float:
        """Seconds over all stages."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class ComparedSide:
    """One of the two programs of a comparison.

    Attributes:
        name: such as "HEAD~1:model.py:step".
        pipeline, target: as text; empty if there is none.
        refused: why the program could not be compiled; empty if it was, or was not meant to be.
        texts: the program at each stage.
    """

    name: str
    pipeline: str
    target: str
    refused: str
    texts: ProgramTexts

    @property
    def label(self) -> str:
        """The name with the pipeline and the target."""
        return " ".join(filter(None, (self.name, self.pipeline, self.target)))


@dataclass(frozen=True)
class ComparedNumber:
    """One measure of both programs, formatted.

    Attributes:
        label: what is measured.
        before, after: the value in A and in B; empty if unknown.
        ratio: the relative change from A to B, such as "+12.5%"; empty if there is none.
        is_less: whether B has less.
    """

    label: str
    before: str
    after: str
    ratio: str
    is_less: bool


@dataclass(frozen=True)
class DifferingLine:
    """The differences of two programs at one line of Python.

    Attributes:
        side: "a" or "b", the program that the line belongs to.
        location: "file:line"; empty if unknown.
        text: the line.
        items: for each difference its kind, the words for it, how many ops, and which.
    """

    side: str
    location: str
    text: str
    items: tuple[tuple[str, str, int, str], ...]


@dataclass(frozen=True)
class PageComparison:
    """The two programs of a comparison, A and B, and what differs between them."""

    before: ComparedSide
    after: ComparedSide
    numbers: tuple[ComparedNumber, ...]
    lines: tuple[DifferingLine, ...]
    is_same: bool
