"""What this process shares with the other processes of a job of `jax.distributed`.

`JobStore` is the key-value store of the job, `JobSession` what this process has written and read in
it. `agreement` compares programs through them.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from ..cost.rates import Rates
from ..errors import JxcError, UsageError
from ..files import from_json, parse_json
from . import _private
from .pass_code import own_code

SECONDS = "JXC_AGREE_SECONDS"
"""The environment variable with the longest time to wait for a process that uses jxc, in seconds.
It is also a limit of the waits below."""

DEFAULT_SECONDS = 300.0
"""The limit without that variable. A process may still trace, or compile another program."""

UNSEEN_SECONDS = 20.0
"""The longest wait for a process that has not shown that it uses jxc."""


def limit_seconds() -> float:
    """The longest wait for a process that uses jxc.

    Raises:
        UsageError: the environment variable is not a number.
    """
    text = os.environ.get(SECONDS)
    try:
        return DEFAULT_SECONDS if text is None else float(text)
    except ValueError:
        raise UsageError(f"{SECONDS}={text!r}: expected a number of seconds") from None


def parse_message(kind: Any, text: str) -> Any:
    """What another process wrote, as a value of a type; see `from_json`.

    Raises:
        JxcError: it is of another type.
    """
    try:
        return from_json(kind, parse_json(text))
    except ValueError as error:
        raise JxcError(
            f"another process of the job wrote {text[:80]!r}: {error}. Do all run the same version "
            "of jxc?"
        ) from None


class JobStore:
    """The key-value store of `jax.distributed`, with jxc's prefix and errors."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def put_once(self, key: str, value: str) -> bool:
        """Write a value unless the key has one; returns whether it was written."""
        return self._call("ALREADY_EXISTS", "key_value_set", key, value) is not _REFUSED

    def put(self, key: str, value: str) -> None:
        """Write a value over any older one."""
        self._call("", "key_value_set", key, value, True)

    def get(self, key: str) -> str | None:
        """The value now; None without one."""
        found = self._call("NOT_FOUND", "key_value_try_get", key)
        return None if found is _REFUSED else found

    def wait(self, key: str, milliseconds: int) -> str | None:
        """The value, as soon as there is one; None if there is none in time."""
        found = self._call("DEADLINE_EXCEEDED", "blocking_key_value_get", key, milliseconds)
        return None if found is _REFUSED else found

    def numbered(self, folder: str) -> dict[int, str]:
        """The values below a folder whose keys are numbers."""
        found = self._call("", "key_value_dir_get", folder)
        return {int(key.rpartition("/")[2]): value for key, value in found}

    def _call(self, refusal: str, method: str, key: str, *args: Any) -> Any:
        try:
            return getattr(self.client, method)(f"jxc/{key}", *args)
        except _private.RuntimeFailure as error:
            text = str(error)
            if refusal and text.startswith(refusal):
                return _REFUSED
            raise JxcError(
                "the processes of this job cannot agree on the program to compile: the "
                f"coordination service of jax.distributed does not answer ({text.splitlines()[0]})."
                " Expected it in process 0: look at the log of that process, and start the job "
                "again"
            ) from error


_REFUSED = object()


@dataclass(eq=False)
class JobSession:
    """What this process has exchanged through one client of `jax.distributed`.

    Attributes:
        store: of the client.
        shown: the process numbers under which this process has shown that it uses jxc.
        seen: the processes that have shown it.
        silent: those whose offer did not come in time, with the seconds for which it was awaited.
        pipelines: for each module of a group, the pipelines and digests that were offered.
        verdicts: by the keys of the exchanges.
        rates: the rates that groups share, by key.
        waiting: the exchanges in which a thread of this process waits, and their programs' names.
    """

    store: JobStore
    shown: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    silent: dict[int, float] = field(default_factory=dict)
    pipelines: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    verdicts: dict[str, dict[str, Any]] = field(default_factory=dict)
    rates: dict[str, Rates] = field(default_factory=dict)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def announce(self, process: int) -> None:
        """Show the other processes that this one uses jxc, and what may differ between them."""
        if process not in self.shown:
            self.shown.add(process)
            self.store.put_once(f"on/{process}", json.dumps(_own_facts()))

    def has_shown(self, process: int) -> bool:
        """Whether a process has shown that it uses jxc."""
        if process not in self.seen and self.store.get(f"on/{process}") is not None:
            self.seen.add(process)
        return process in self.seen

    def patience(self, process: int) -> float:
        """How many seconds to wait for a process."""
        longest = limit_seconds()
        if not self.has_shown(process):
            return 0.0 if process in self.silent else min(UNSEEN_SECONDS, longest)
        return min(UNSEEN_SECONDS, longest) if process in self.silent else longest

    def facts(self, process: int) -> dict[str, Any]:
        """What a process wrote with `announce`; empty if it has not."""
        found: dict[str, Any] = parse_message(
            Mapping[str, Any], self.store.get(f"on/{process}") or "{}"
        )
        return found

    def number(self, module: str, pipeline: str, digest: str) -> int:
        """The number of a pipeline and its result among those offered for a module."""
        with self.lock:
            offered = self.pipelines.setdefault(module, [])
            if (pipeline, digest) not in offered:
                offered.append((pipeline, digest))
            return offered.index((pipeline, digest))


_session: JobSession | None = None


def session() -> JobSession | None:
    """The session of the client that `jax.distributed` has now; None without one."""
    global _session
    client = _private.coordination_client()
    if client is None:
        return None
    if _session is None or _session.store.client is not client:
        _session = JobSession(JobStore(client))
    return _session


def announce() -> None:
    """Show the other processes of the job that this one uses jxc; nothing without a job."""
    if (found := session()) is not None:
        found.announce(_private.own_process_id())


def _own_facts() -> dict[str, Any]:
    versions = [f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy")]
    return {"versions": [*versions, f"Python {platform.python_version()}"], "code": own_code()}
