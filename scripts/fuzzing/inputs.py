"""Corrupted inputs: `jxc opt` must accept each, or refuse it with a message.

A child process reads and rewrites one mutant after the other. If it dies, the mutant is given to
the command `jxc opt`, which must report the crash of native code in a message.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

from .mutate import mutant
from .sources import sources

PIPELINE = "annotate-cost,O2"
LIMIT_S = 10.0
_READ = "read"
MOST_CONFIRMED = 60  # inputs that killed the child; the command takes 0.5 s for each
_FORKS = multiprocessing.get_context(
    "forkserver"
)  # from a process without MLIR contexts, which could hold locks
_FORKS.set_forkserver_preload(["fuzzing.preload"])


@dataclass(frozen=True)
class Found:
    """A mutant that is neither accepted nor rejected with a message."""

    number: int
    source: str
    what: str


@dataclass
class Tally:
    """The results of a run so far."""

    mutants: int = 0
    sources: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    finds: list[Found] = field(default_factory=list)


class Child:
    """A process that returns an outcome for each input, and is restarted when it dies."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, data: bytes) -> tuple[str, str]:
        """The outcome of an input, and details; "died" or "slow" if there is no answer."""
        if self._process is None:
            self._pipe, theirs = _FORKS.Pipe()
            self._process = _FORKS.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send(data)
            return self._answer()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            return "died", f"exit code {code}"

    def _answer(self) -> tuple[str, str]:
        """The last answer of the child, which also reports when MLIR has read the input."""
        word = "MLIR did not finish reading it"
        while self._pipe.poll(LIMIT_S):
            answer = self._pipe.recv()
            if answer != _READ:
                return answer
            word = "slow"
        self.close()
        return word, f"no answer in {LIMIT_S:g} s"

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def serve(pipe: Connection) -> None:
    """Answer inputs until there are no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MLIR prints some of its errors
    while True:
        try:
            data = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome(data, pipe))


def outcome(data: bytes, pipe: Connection) -> tuple[str, str]:
    """The outcome of `jxc opt` on an input, and a traceback if it is a bug."""
    from jxc.errors import JxcError
    from jxc.ir import ModuleSyntaxError, make_context, read_module, write_text
    from jxc.pipeline import PassError, make_pipeline, run_pipeline
    from jxc.rewrite import PassContext

    try:
        module = read_module(data, make_context(), name="mutant")
        pipe.send(_READ)
        run_pipeline(module, make_pipeline(PIPELINE), PassContext(), name="mutant")
        write_text(module)
    except ModuleSyntaxError:
        return "refused", ""
    except PassError as error:
        return ("bug", _traceback(error)) if error.ours else ("a pass of MLIR failed", "")
    except JxcError:
        return "refused by a pass", ""
    except Exception as error:
        return "bug", _traceback(error)
    return "accepted", ""


def _traceback(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def sources_in_child(seed: int) -> list[tuple[str, bytes]]:
    """`sources`, computed in a process that may load MLIR and JAX."""
    mine, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_send_sources, args=(seed, theirs))
    process.start()
    theirs.close()
    found = mine.recv()
    process.join()
    return found


def _send_sources(seed: int, pipe: Connection) -> None:
    pipe.send(sources(seed))


def run(seed: int, count: int, seconds: float, out: Path | None = None) -> Tally:
    """Corrupt inputs, and count the outcomes.

    Args:
        seed: determines every choice.
        count: the number of mutants.
        seconds: the time limit.
        out: a folder for failing mutants and those that crash native code; none are saved if None.
    """
    end, given = perf_counter() + seconds, sources_in_child(seed)
    tally, child = Tally(sources=len(given)), Child()
    for number in range(count):
        if perf_counter() > end:
            break
        generator = random.Random(f"{seed}/{number}")
        name, data = generator.choice(given)
        data = mutant(generator, data)
        word, details = child.ask(data)
        if word == "died" and _deaths(tally) < MOST_CONFIRMED:
            word, details = confirm(data)
        tally.mutants += 1
        tally.outcomes[word] += 1
        if word in _BAD:
            tally.finds.append(Found(number, name, details))
        if out is not None and word not in _FINE:
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{seed}-{number}-{word.replace(' ', '-')}.mlir").write_bytes(data)
    child.close()
    return tally


def _deaths(tally: Tally) -> int:
    return sum(count for word, count in tally.outcomes.items() if word.startswith("native"))


_FINE = ("accepted", "refused", "refused by a pass", "a pass of MLIR failed")
_BAD = ("bug", "slow")
_SIGNS_OF_A_BUG = ("Traceback", "internal error")


def confirm(data: bytes) -> tuple[str, str]:
    """The outcome of the command on an input that ended the child."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.mlir"
        path.write_bytes(data)
        command = [str(Path(sys.executable).parent / "jxc"), "opt", "-p", PIPELINE, str(path)]
        environment = {**os.environ, "TMPDIR": folder}
        try:
            done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, env=environment)
        except subprocess.TimeoutExpired:
            return "slow", f"{' '.join(command)}: no answer in {LIMIT_S:g} s"
    error_text = done.stderr.decode(errors="replace")
    if (
        done.returncode == 4
        and "native code crashed" in error_text
        and not _shows_a_bug(error_text)
    ):
        return "native crash, reported in a message", error_text
    if done.returncode in (0, 1, 2) and not _shows_a_bug(error_text):
        return "native crash, not again", error_text
    return "bug", f"exit code {done.returncode}\n{error_text}"


def _shows_a_bug(text: str) -> bool:
    return any(word in text for word in _SIGNS_OF_A_BUG)
