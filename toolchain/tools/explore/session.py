"""The state of `jxc explore`: the function as last lowered, its files, and what was made of it.

A thread compares the files with those that were imported. After a change the function is lowered
again; if that fails, the last good state stays, with the error beside it. Everything that may crash
or hang is asked of a child process with a time limit.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...backend.targets import Target, all_offers, find_target
from ...child import Child, ChildLost
from ...errors import JxcError, MissingTargetError, UsageError
from ...frontend import LowerRequest
from .lowering import LoweredText, LoweringAnswer, root_of
from .variant import Variant
from .worker import CompiledText, Shown

_POLL_SECONDS = 0.2
_WRITING_SECONDS = 0.05  # an editor may empty a file before it writes it: two looks must agree
_LOWERINGS_PER_CHILD = 200  # JAX keeps something of each module; then a new process starts
_KEPT_COMPILED = 24
_WORKER, _LOWERING = f"{__package__}.worker", f"{__package__}.lowering"
_Stamp = tuple[int, int] | None


@dataclass(frozen=True)
class SessionState:
    """What the page is notified of.

    Attributes:
        number: increases with each change of the state.
        version: of the files, from 1; the same for two states between which no file changed.
        error: why the function could not be lowered; empty otherwise. An older version is shown.
        seconds: that the last lowering took.
    """

    number: int
    version: int
    error: str
    seconds: float


class Session:
    """A function that is explored.

    Args:
        request: the function and its arguments, without a platform.
        limit_s: the most seconds of processor time for one request to a child process.
        first_target: the target that it is lowered for first.

    Raises:
        JxcError: the function cannot be lowered.
    """

    def __init__(self, request: LowerRequest, limit_s: float, first_target: str = "cpu") -> None:
        self.request = request
        self.targets = [vars(offer) for offer in all_offers() if "@" not in offer.name]
        self._limit_s = limit_s
        self._root = root_of(request.target)
        self._lowering = Child(_LOWERING, limit_s)
        self._worker, self._compiler = Child(_WORKER, limit_s), Child(_WORKER, limit_s)
        self._lowered: dict[str, LoweredText] = {}
        self._stamps: dict[str, _Stamp] = {}
        self._compiled: dict[tuple[bytes, str], CompiledText] = {}
        self._changed = threading.Condition()
        self._in_lowering = threading.Lock()
        self._is_closed = threading.Event()
        self._count = 0
        self.state = SessionState(1, 1, "", 0.0)
        try:
            answer = self._lower_again(self._target(first_target).platform)
            if answer.lowered is None:
                error = JxcError(answer.error)
                error.exit_code = answer.exit_code
                raise error
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed.is_set()

    # Files

    def watch(self) -> None:
        """Lower the function again whenever a file changes, until `close`."""
        while not self._is_closed.wait(_POLL_SECONDS):
            found = _stamps(self._stamps)
            if found == self._stamps:
                continue
            while not self._is_closed.wait(_WRITING_SECONDS):
                before, found = found, _stamps(self._stamps)
                if before == found:
                    break
            self.refresh()

    def refresh(self) -> None:
        """Import the files anew and lower the function, for the platform that is shown."""
        platform = next(reversed(self._lowered))
        with self._in_lowering:
            self._lower_again(platform, version=self.state.version + 1)

    def wait(self, number: int, seconds: float) -> SessionState | None:
        """The state once its number is not `number`; None after so many seconds, and at the end."""
        with self._changed:
            is_new = self._changed.wait_for(
                lambda: self.state.number != number or self._is_closed.is_set(), seconds
            )
        return self.state if is_new and not self._is_closed.is_set() else None

    def close(self) -> None:
        """End the child processes, also while other threads wait for them."""
        self._is_closed.set()
        with self._changed:
            self._changed.notify_all()
        for child in (self._lowering, self._worker, self._compiler):
            child.close()

    def _lower_again(self, platform: str, version: int = 1) -> LoweringAnswer:
        self._count += 1
        if self._count % _LOWERINGS_PER_CHILD == 0:
            self._lowering.close()
        watched = self._stamps or _stamps(self._first_files())
        stamps = _stamps(watched)  # from before the import: a later edit is seen as one
        answer = self._ask_to_lower(version, platform)
        new = [file for file in answer.files if file not in stamps]
        self._stamps = stamps | _stamps(new)
        if answer.lowered is None:
            # A file that is missing may appear: the folder changes then.
            self._stamps |= _stamps([str(self._root)])
            self._set(version, answer.error)
            return answer
        self._stamps = {file: stamp for file, stamp in self._stamps.items() if file in answer.files}
        self._lowered = {platform: answer.lowered}
        self._set(version, "", answer.lowered.seconds)
        return answer

    def _first_files(self) -> list[str]:
        file = self.request.target.rpartition(":")[0]
        return [str(Path(file).resolve())] if file.endswith(".py") else []

    def _ask_to_lower(self, version: int, platform: str) -> LoweringAnswer:
        try:
            answer: LoweringAnswer = self._lowering.ask((version, self.request, platform))
        except ChildLost as lost:
            return LoweringAnswer(None, f"the process that runs {self.request.target} {lost}")
        return answer

    def _set(self, version: int, error: str, seconds: float = 0.0) -> None:
        with self._changed:
            self.state = SessionState(self.state.number + 1, version, error, seconds)
            self._changed.notify_all()

    # What the page asks for

    def show(self, variants: Sequence[Variant]) -> dict[str, Any]:
        """What the page shows of one or two variants; compiled texts only if they are at hand.

        Raises:
            JxcError: a target or a pipeline is not valid, or a pass fails.
        """
        shown = self._shown(variants)
        compiled = self._at_hand(shown, self._modules(shown))
        found = self._ask(self._worker, "describe", shown, compiled)
        state = self.state
        return {"name": shown[0][0].name, **vars(state), **found}

    def compile(self, variants: Sequence[Variant]) -> dict[str, Any]:
        """As `show`, with compiled texts; compiles what is not at hand."""
        shown = self._shown(variants)
        for (_, variant, _), module in zip(shown, self._modules(shown), strict=True):
            key = _key(module, variant.target)
            if key not in self._compiled:
                _keep(self._compiled, key, self._compile(module, variant.target))
        return self.show(variants)

    def draw(
        self,
        variants: Sequence[Variant],
        stage: tuple[int, int],
        lines: Sequence[int],
        *,
        for_model_explorer: bool,
    ) -> dict[str, Any]:
        """The graph of some lines of a stage; see `worker.draw`."""
        shown = self._shown(variants)
        compiled = self._at_hand(shown, self._modules(shown))
        found: dict[str, Any] = self._ask(
            self._worker, "draw", shown, compiled, stage, lines, for_model_explorer
        )
        return found

    def _target(self, name: str) -> Target:
        names = [offer["name"] for offer in self.targets]
        if name not in names:
            raise UsageError(f"target {name}: expected one of {', '.join(names)}")
        return find_target(name)

    def _shown(self, variants: Sequence[Variant]) -> list[Shown]:
        targets = [self._target(variant.target) for variant in variants]
        return [
            (self._lowered_for(target.platform), variant, target.kind)
            for variant, target in zip(variants, targets, strict=True)
        ]

    def _lowered_for(self, platform: str) -> LoweredText:
        if found := self._lowered.get(platform):  # also while a new version is lowered
            return found
        with self._in_lowering:
            answer = self._ask_to_lower(self.state.version, platform)
            if answer.lowered is None:
                raise JxcError(f"cannot be lowered for {platform}: {answer.error}")
            first = {platform: answer.lowered}  # the platform shown first stays last in the order
            self._lowered = first | self._lowered
            return answer.lowered

    def _modules(self, shown: Sequence[Shown]) -> list[bytes]:
        return [self._ask(self._worker, "run", *each) for each in shown]

    def _at_hand(
        self, shown: Sequence[Shown], modules: Sequence[bytes]
    ) -> list[CompiledText | None]:
        return [
            self._compiled.get(_key(module, variant.target))
            for (_, variant, _), module in zip(shown, modules, strict=True)
        ]

    def _compile(self, module: bytes, name: str) -> CompiledText:
        target = self._target(name)
        if target.missing:
            return CompiledText(note=f"the compiler of {name} is not installed: {target.missing}")
        try:
            done: CompiledText = self._ask(self._compiler, "compile_module", module, name)
        except (JxcError, MissingTargetError) as error:
            return CompiledText(note=str(error))
        return done

    def _ask(self, child: Child, name: str, *arguments: Any) -> Any:
        try:
            status, result = child.ask((name, arguments))
        except ChildLost as lost:
            raise JxcError(f"the process that runs passes and compilers {lost}") from None
        if status != "done":
            raise JxcError(result)
        return result


_T = TypeVar("_T")


def _keep(kept: dict[Any, _T], key: Any, value: _T) -> None:
    while len(kept) >= _KEPT_COMPILED:
        del kept[next(iter(kept))]
    kept[key] = value


def _key(module: bytes, target: str) -> tuple[bytes, str]:
    return hashlib.sha256(module).digest(), target


def _stamps(files: Iterable[str]) -> dict[str, _Stamp]:
    return {file: _stamp(file) for file in files}


def _stamp(file: str) -> _Stamp:
    """The time of the last change and the size of a file; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
