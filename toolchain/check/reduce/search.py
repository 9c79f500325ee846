"""The search that all strategies share: make, verify, measure, test and accept candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

from jaxlib.mlir import ir

from ...errors import JxcError
from ...ir import ModuleSyntaxError, clone_module, count_ops, read_module, walk, write_text
from ...pipeline.native import run_native
from ...units import counted
from ..edit import NotApplicable, remove_dead, untidiness


class NotFailing(JxcError):
    """The given module does not fail: there is nothing to reduce."""


class TimeUp(Exception):
    """The time limit is reached."""


@dataclass(frozen=True, order=True)
class Size:
    """How large a module is. A candidate is accepted only if its size is strictly less.

    Attributes:
        ops: as `count_ops` counts.
        elements: of all results and block arguments; a dynamic extent counts as one.
        length: of the text, in characters.
        untidiness: how far the constants are from zeros and ones, see `edit.untidiness`.
    """

    ops: int
    elements: int
    length: int
    untidiness: int

    @staticmethod
    def of(module: ir.Module, text: str) -> Size:
        """The size of a module, whose text this is."""
        return Size(count_ops(module), _elements(module), len(text), untidiness(module))


@dataclass(frozen=True)
class Reduction:
    """The state of a reduction, at its end or on the way.

    Attributes:
        module: the smallest failing module so far.
        before: the size of the module given.
        after: the size of `module`.
        candidates: how often the test ran.
        seconds: how long it took.
        ended: "done", "time" or "interrupted"; "running" on the way.
    """

    module: ir.Module
    before: Size
    after: Size
    candidates: int
    seconds: float
    ended: str = "running"

    def __str__(self) -> str:
        return (
            f"{self.before.ops} ops -> {self.after.ops} ops, "
            f"{counted(self.candidates, 'candidate')}, {self.seconds:.1f} s"
        )


_NO_CANDIDATE = (NotApplicable, ir.MLIRError, JxcError, ValueError, TypeError, LookupError)
"""Errors of the bindings and of edits whose result would not be a valid module."""

Edit = Callable[[ir.Module], ir.Module | None]
"""Changes a module in place, or returns another; raises `NotApplicable` where it cannot."""


class Search:
    """The smallest failing module so far, and the way to a smaller one.

    Args:
        module: the module; stays as it is.
        still_fails: the test.
        seconds: how long to search; no limit when None.
        progress: called after each test.

    Raises:
        NotFailing: the test does not hold for the module.
    """

    def __init__(
        self,
        module: ir.Module,
        still_fails: Callable[[ir.Module], bool],
        seconds: float | None = None,
        progress: Callable[[Reduction], None] | None = None,
    ) -> None:
        self.module = module
        self.drops_dead = False
        self.candidates = 0
        self._still_fails = still_fails
        self._start = monotonic()
        self._seconds = math.inf if seconds is None else seconds
        self._progress: Callable[[Reduction], None] | None = None
        self._verdicts: dict[bytes, bool] = {}
        text = module_text(module)
        self.before = self.size = Size.of(module, text)
        if not self._fails(module, text):
            raise NotFailing("expected a module that fails; as given, it does not")
        self._progress = progress  # not called for the first test
        self._report()

    def attempt(self, edit: Edit) -> bool:
        """Apply `edit` to a copy, and accept the copy if it is valid, smaller, and still fails."""
        self._check_time()
        try:
            candidate, text = self._candidate(edit)
        except _NO_CANDIDATE:
            return False  # no valid module
        size = Size.of(candidate, text)
        if not size < self.size or not self._fails(candidate, text):
            return False
        self.module, self.size = candidate, size
        self._report()
        return True

    def reduction(self, ended: str = "running") -> Reduction:
        """The state of the search."""
        seconds = monotonic() - self._start
        return Reduction(self.module, self.before, self.size, self.candidates, seconds, ended)

    def _candidate(self, edit: Edit) -> tuple[ir.Module, str]:
        """The edited module after a round trip through its text, which proves both valid."""
        copy = clone_module(self.module)
        with copy.context, ir.Location.unknown():
            copy = edit(copy) or copy
            if self.drops_dead:
                remove_dead(copy)
        if not copy.operation.verify():
            raise NotApplicable
        text, candidate = _text_and_back(copy)
        if not _has_locations(copy):  # reading has given it those of its text
            run_native("strip-debuginfo", candidate)
        return candidate, text

    def _fails(self, module: ir.Module, text: str) -> bool:
        key = sha256(text.encode()).digest()
        if key not in self._verdicts:
            self._verdicts[key] = self._still_fails(clone_module(module))
            self.candidates += 1
            self._report()
        return self._verdicts[key]

    def _check_time(self) -> None:
        if monotonic() - self._start > self._seconds:
            raise TimeUp

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self.reduction())


ChunkEdit = Callable[[ir.Module, range], ir.Module | None]


def shrink(search: Search, count: Callable[[ir.Module], int], edit: ChunkEdit) -> None:
    """Try `edit` on ever smaller chunks of a list, from its end, until single items are left.

    Args:
        search: the search.
        count: how many items the list of a module has; an accepted edit makes it shorter.
        edit: what to do to the items of a range.
    """
    size = count(search.module)
    while size:
        end = count(search.module)
        while end > 0:
            chunk = range(max(end - size, 0), end)
            search.attempt(lambda module, chunk=chunk: edit(module, chunk))  # type: ignore[misc]
            end = min(chunk.start, count(search.module))
        size = min(size // 2, count(search.module))


def module_text(module: ir.Module) -> str:
    """The module's text as `read_module` takes it, with its locations where it has any."""
    return _text_and_back(module)[0]


def _text_and_back(module: ir.Module) -> tuple[str, ir.Module]:
    """The module's text, and the module as it reads; in generic form where the other does not.

    (StableHLO does not read back the dynamic_slice of a scalar that it prints.)
    """
    debug_info = _has_locations(module)
    text = write_text(module, debug_info=debug_info)
    try:
        return text, read_module(text, module.context, name="-")
    except ModuleSyntaxError:
        text = write_text(module, debug_info=debug_info, generic=True)
        return text, read_module(text, module.context, name="-")


def _has_locations(module: ir.Module) -> bool:
    return any(str(op.location) != "loc(unknown)" for op in walk(module.operation))


def _elements(module: ir.Module) -> int:
    total = 0
    for op in walk(module.operation):
        total += sum(_size(result.type) for result in op.results)
        for region in op.regions:
            for block in region.blocks:
                total += sum(_size(argument.type) for argument in block.arguments)
    return total


def _size(kind: ir.Type) -> int:
    if not isinstance(kind, ir.RankedTensorType):
        return 1
    return math.prod(1 if kind.is_dynamic_dim(i) else kind.shape[i] for i in range(kind.rank))
