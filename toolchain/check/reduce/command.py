"""A shell command as the test of a reduction: whether it fails on a module."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from .search import NotFailing, module_text

_NOT_RUN = (126, 127)  # what the shell exits with when it cannot run a command
_LEAST_TIMEOUT = 10.0
_SLOWDOWN = 10  # by default a candidate may take so many times as long as the given module
_LINES_SHOWN = 3


@dataclass(frozen=True)
class CommandRun:
    """How one run of the command ended.

    Attributes:
        code: its exit code, negative for a signal; None where it was stopped for its time.
        output: what it wrote to stdout and stderr.
        seconds: how long it took, or the limit at which it was stopped.
    """

    code: int | None
    output: str
    seconds: float

    def __str__(self) -> str:
        if self.code is None:
            return f"it took more than {self.seconds:.1f} s"
        if self.code < 0:
            return f"it died of {signal.Signals(-self.code).name}"
        return f"it exited {self.code}"

    @property
    def last_lines(self) -> list[str]:
        """The end of the output, blank lines left out."""
        return [line for line in self.output.splitlines() if line.strip()][-_LINES_SHOWN:]


@dataclass
class Command:
    """The test `still_fails` of a reduction: run a command on the candidate.

    Attributes:
        text: for the shell; `{}` is the module's path, which is appended where there is no `{}`.
        path: where each candidate is written.
        expect: text that the output of a failure contains; any failure counts when None.
        timeout: seconds for one run, after which it does not count as a failure; when None, ten
            times what the first run took, and 10 at least.
        first: how the first run ended, on the module as given.
    """

    text: str
    path: Path
    expect: str | None = None
    timeout: float | None = None
    first: CommandRun | None = field(default=None, init=False)

    def __call__(self, module: ir.Module) -> bool:
        """Whether the command fails on `module`."""
        self.path.write_text(module_text(module))
        outcome = self._run()
        if self.first is None:
            self.first = outcome
            self.timeout = self.timeout or max(_LEAST_TIMEOUT, _SLOWDOWN * outcome.seconds)
        return self._is_failure(outcome)

    def refusal(self) -> JxcError:
        """The error for a first run that did not fail.

        Returns:
            An error with the end of the output as notes; a usage error for a command that the
            shell cannot run.
        """
        assert self.first is not None
        error: JxcError
        if self.first.code in _NOT_RUN:
            error = UsageError(
                f"--check: the shell cannot run the command (exit code {self.first.code})"
            )
        elif self.first.code is None:
            error = NotFailing(
                f"expected the command to fail on the module as given; {self.first}, which does "
                "not count as failing: give it more with --timeout"
            )
        elif self.first.code and self.expect is not None:
            error = NotFailing(
                f"expected the command to fail on the module as given and to print "
                f"{self.expect!r}; {self.first} without"
            )
        else:
            error = NotFailing(f"expected the command to fail on the module as given; {self.first}")
        for line in self.first.last_lines:
            error.add_note(line)
        return error

    def _is_failure(self, outcome: CommandRun) -> bool:
        if outcome.code in (None, 0, *_NOT_RUN):
            return False
        return self.expect is None or self.expect in outcome.output

    def _line(self) -> str:
        path = shlex.quote(str(self.path))
        return self.text.replace("{}", path) if "{}" in self.text else f"{self.text} {path}"

    def _run(self) -> CommandRun:
        start = monotonic()
        child = subprocess.Popen(
            self._line(),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that all that it started can be ended with it
            env={**os.environ, "JXC_REDUCE": "0"},  # `jxc verify` need not reduce every candidate
        )
        code: int | None = None
        try:
            output = child.communicate(timeout=self.timeout)[0]
            code = child.returncode
        except subprocess.TimeoutExpired:
            output = _end(child)
        except BaseException:
            _end(child)
            raise
        seconds = monotonic() - start if code is not None else self.timeout or 0.0
        return CommandRun(code, output.decode(errors="replace"), seconds)


def _end(child: subprocess.Popen[bytes]) -> bytes:
    """Kill the command and its children; return the output until then."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return child.communicate()[0]
