"""How candidates are tried one by one: while there is time, each program once, failures noted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from jaxlib.mlir import ir

from ...backend.verdicts import DEFAULT
from ...errors import JxcError
from ...ir import write_bytecode
from .candidates import PLAIN, Candidate

_MESSAGE_LENGTH = 200
_BUDGET_STEP = 5  # seconds: budgets are suggested in multiples of this


class Trials(ABC):
    """The candidates of one program, and why some of them were left out.

    Attributes:
        left_out: the reasons, by the name of the candidate.
        fatal: exceptions that end the trials; others leave a candidate out.
    """

    fatal: tuple[type[Exception], ...] = ()

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.left_out: dict[str, str] = {}
        self._tried: set[str] = set()
        self._without_time: list[str] = []
        self._modules: dict[tuple[bytes, str], str] = {}

    @abstractmethod
    def has_time(self) -> bool:
        """Whether there is time for one more candidate."""

    @abstractmethod
    def budget_for(self, more: int) -> float:
        """The seconds of a budget in which so many more candidates would be measured."""

    @abstractmethod
    def attempt(self, candidate: Candidate) -> None:
        """Measure a candidate, or leave it out."""

    def try_all(self, candidates: Iterable[Candidate]) -> None:
        """Measure candidates while there is time, each name once; plain JAX and O2 always."""
        for candidate in candidates:
            name = candidate.name
            if name in self._tried:
                continue
            self._tried.add(name)
            if name not in (PLAIN, DEFAULT) and not self.has_time():
                self._without_time.append(name)
                continue
            self.tell(name)
            try:
                self.attempt(candidate)
            except self.fatal:
                raise
            except Exception as error:  # each compiler and pass has exceptions of its own
                kind = "" if isinstance(error, JxcError) else f"{type(error).__name__}: "
                self.left_out[name] = f"{kind}{first_line(str(error))}"

    def explain_no_time(self) -> None:
        """Leave out the candidates for which there was no time, and say which budget has some."""
        if self._without_time:
            budget = self.budget_for(len(self._without_time))
            seconds = _BUDGET_STEP * (int(budget / _BUDGET_STEP) + 1)
            reason = f"no time; --seconds {seconds} (or JXC_TUNE_SECONDS) would reach it"
            self.left_out |= dict.fromkeys(self._without_time, reason)

    def is_known(self, candidate: Candidate, module: ir.Module) -> bool:
        """Whether an earlier candidate is the same program; then the candidate is left out."""
        key = write_bytecode(module), repr(sorted(candidate.xla_options.items()))
        same = self._modules.setdefault(key, candidate.name)
        if same != candidate.name:
            self.left_out[candidate.name] = f"the same program as {same}"
        return same != candidate.name


def first_line(text: str) -> str:
    """The first line of a message, shortened."""
    return next(iter(text.strip().splitlines()), "")[:_MESSAGE_LENGTH]
