"""Verdicts of O3: which candidate is fastest for a program on a device, kept in the user's cache.

A verdict is found by the program without locations, the device, and the versions of jax, jaxlib and
of jxc's own code, so that a later process runs one pipeline and compiles once. `tools.tune` makes
verdicts, `hook` applies them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jaxlib.mlir import ir

from ..files import from_json, parse_json
from ..ir import clone_module, write_bytecode
from ..pipeline.native import run_native
from ..source import first_time, warn_user
from .pass_code import own_code
from .store import Store

SCHEMA_VERSION = 1

LIMIT_BYTES = 16 << 20
"""The size of all verdicts. One has about a kilobyte."""

TUNED = "O3"
"""The level whose pipeline is a verdict."""

DEFAULT = "O2"
"""The candidate that O3 uses without a verdict."""


@dataclass(frozen=True)
class TuneVerdict:
    """The candidate that O3 uses for a program on a device.

    Attributes:
        program: the module's name, such as "jit_step".
        device: where it was measured, such as "cpu: AMD EPYC, 2 cores"; a target such as
            "tpu:v5e" for estimates.
        choice: the name of the candidate.
        pipeline: its passes; empty for plain JAX.
        xla_options: XLA's options by name.
        seconds: of one run, by the name of each candidate: medians, or estimates.
        left_out: why other candidates are not in `seconds`, by name.
        passed_over: why candidates with a shorter time than the choice were not chosen, by name.
        estimated: whether the seconds are estimates for hardware that is not here.
        tuning_seconds: how long tuning took.
        stored: whether the verdict could be written to the store.
        date: when, in ISO format.
        versions: of jax and jaxlib.
    """

    program: str
    device: str
    choice: str
    pipeline: str
    xla_options: Mapping[str, str | bool | int | float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)
    estimated: bool = False
    tuning_seconds: float = 0.0
    stored: bool = True
    date: str = ""
    versions: str = ""

    @property
    def label(self) -> str:
        """The level and the candidate, as logs show it: "O3: plain"."""
        return f"{TUNED}: {self.choice}"

    def ratio(self, name: str) -> float | None:
        """How many times as fast the choice is as another candidate; None if that was not timed."""
        if name not in self.seconds or not self.seconds.get(self.choice):
            return None
        return self.seconds[name] / self.seconds[self.choice]


def key_of(module: ir.Module, device: str, assume: frozenset[str] = frozenset()) -> str:
    """The key of a program's verdict.

    Args:
        module: the program as JAX lowered it; locations do not count.
        device: as `TuneVerdict.device`.
        assume: the user's promises.
    """
    bare = clone_module(module)
    run_native("strip-debuginfo", bare)
    flags = [os.environ.get(name, "") for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    code = own_code() or f"changed while process {os.getpid()} runs"
    parts = [device, *sorted(assume), *flags, _versions(), code]
    digest = hashlib.sha256(json.dumps(parts).encode())
    digest.update(write_bytecode(bare))
    return digest.hexdigest()[:40]


def find_verdict(key: str) -> TuneVerdict | None:
    """The stored verdict, or None; one that is damaged is removed."""
    store = verdict_store()
    data = store.get(key)
    if data is None:
        return None
    verdict = _read(data)
    if verdict is None:
        store.remove(key)
    return verdict


def keep_verdict(key: str, verdict: TuneVerdict) -> bool:
    """Store a verdict under a key of `key_of`; returns whether the folder could be written to."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    record = asdict(verdict) | {"date": date, "versions": _versions(), "schema": SCHEMA_VERSION}
    return verdict_store().put(key, json.dumps(record).encode())


def warn_if_not_stored(found: TuneVerdict | str) -> None:
    """Warn once in a process if the folder of verdicts cannot be written to."""
    if isinstance(found, TuneVerdict) and not found.stored and first_time(("O3", "store")):
        warn_user(
            f"O3 cannot write to {verdict_store().directory}, where it keeps what it found: every "
            "process tunes its programs again. Set JXC_CACHE_DIR to a folder that it can write to."
        )


def all_verdicts() -> Iterator[tuple[str, TuneVerdict, int]]:
    """The key, the verdict and the size in bytes of each entry, the last used first."""
    store = verdict_store()
    for entry in store.entries():
        data = store.get(entry.key)
        if data is not None and (verdict := _read(data)) is not None:
            yield entry.key, verdict, entry.size


def find_verdict_name(key: str) -> str | None:
    """The name of the program of a stored verdict; None if it cannot be read."""
    verdict = find_verdict(key)
    return None if verdict is None else verdict.program


def verdict_store() -> Store:
    """The folder of the verdicts: `tune` in the cache directory of the user.

    `JXC_CACHE_DIR` names another cache directory.
    """
    if directory := os.environ.get("JXC_CACHE_DIR"):
        return Store(Path(directory) / "tune", LIMIT_BYTES)
    from platformdirs import user_cache_path

    return Store(user_cache_path("jxc", appauthor=False) / "tune", LIMIT_BYTES)


def _read(data: bytes) -> TuneVerdict | None:
    with suppress(ValueError):
        record = parse_json(data)
        if isinstance(record, dict) and record.get("schema") == SCHEMA_VERSION:
            verdict: TuneVerdict = from_json(TuneVerdict, record)
            return verdict
    return None


@cache
def local_device(platform_name: str, device_kind: str) -> str:
    """The name of a device of this machine: JAX's kind; for a CPU its model and cores."""
    if platform_name != "cpu":
        return f"{platform_name}: {device_kind}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"cpu: {_processor()}, {cores} cores"


def present_device(platform_name: str) -> str:
    """The name of the device of this machine that runs programs lowered for a platform."""
    import jax

    is_here = platform_name == jax.default_backend()
    return local_device(platform_name, jax.devices()[0].device_kind if is_here else "")


def _processor() -> str:
    with suppress(OSError, IndexError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x for x in lines if x.startswith("model name")).partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version  # importing jax takes longer

    try:
        return f"jax {version('jax')}, jaxlib {version('jaxlib')}"
    except PackageNotFoundError:
        return "unknown"
