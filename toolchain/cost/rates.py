"""Rates: measured speeds of a target, by which passes decide whether a rewrite pays.

A `Rate` is declared in `cpu`, in `roofline` or in the `cost` module of the pass family that reads
it, with its value on the machine that jxc was developed on. `jxc calibrate` measures rates on
another machine and writes them to a file in the user's configuration directory, from which passes
read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jaxlib.version import __version__

from ..errors import UsageError
from ..files import from_json, parse_json

IS_OLD = tuple(map(int, __version__.split(".")[:2])) < (0, 11)
"""Whether jaxlib is older than 0.11: some kernels of XLA:CPU have other rates there."""

SHIPPED_TARGET = "cpu"
"""The only target with shipped rates."""

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Rate:
    """The time of an operation, which depends on the machine.

    Attributes:
        name: kebab-case, unique, such as "sine-of-xla".
        doc: the operation and the unit: "one element of stablehlo.sine, in ns".
        shipped: its value under XLA:CPU of the installed jaxlib on two x86 cores with AVX-512.
    """

    name: str
    doc: str
    shipped: float


@dataclass(frozen=True)
class Rates:
    """The rates of one target.

    Attributes:
        target: "cpu", "gpu" or "tpu".
        measured: the rates measured on this machine, by name; the others have shipped values.
        source: the file of the measured rates, for messages; empty without one.
        of_device: the shipped values of a device other than a CPU, by name.
    """

    target: str = SHIPPED_TARGET
    measured: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    source: str = ""
    of_device: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __getitem__(self, rate: Rate) -> float:
        return self.get(rate, rate.shipped)

    def get(self, rate: Rate, usual: float) -> float:
        """The rate that was measured or that the device has, else `usual`."""
        return self.measured.get(rate.name, self.of_device.get(rate.name, usual))

    @property
    def decides(self) -> bool:
        """Whether rules may decide by these rates: some are shipped or measured for this target."""
        return self.target == SHIPPED_TARGET or bool(self.measured)


@dataclass(frozen=True)
class _RatesFile:
    """What a rates file holds; see `read_rates_file`."""

    targets: Mapping[str, Mapping[str, float]]
    measured: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def rates_file() -> Path | None:
    """The file of the measured rates; None with `JXC_RATES=shipped`, which uses none.

    `JXC_RATES` names the file, else it is `rates.json` in the configuration directory, which
    `JXC_CONFIG_DIR` names, else `XDG_CONFIG_HOME`, else the home directory.
    """
    named = os.environ.get("JXC_RATES", "")
    if named == "shipped":
        return None
    if named:
        return Path(named)
    if directory := os.environ.get("JXC_CONFIG_DIR"):
        return Path(directory) / "rates.json"
    from platformdirs import user_config_path

    return user_config_path("jxc", appauthor=False) / "rates.json"


def rates_of(target: str) -> Rates:
    """The rates of a target: those measured on this machine, and shipped ones for the rest.

    Raises:
        UsageError: JXC_RATES names a file that does not exist, or the file is not a rates file.
    """
    file = rates_file()
    if file is not None and os.environ.get("JXC_RATES") and not file.is_file():
        raise UsageError(
            f"JXC_RATES={file}: no such file. Expected one that `jxc calibrate` wrote, or "
            "JXC_RATES=shipped; unset it to use the user's own settings"
        )
    return _read(target, file) if file is not None else Rates(target)


@cache
def _read(target: str, file: Path) -> Rates:
    measured = read_rates_file(file)["targets"].get(target)
    if measured is None:
        return Rates(target)
    return Rates(target, MappingProxyType(measured), str(file))


def read_rates_file(file: Path) -> dict[str, Any]:
    """The contents of a rates file; no targets if it does not exist.

    Returns:
        `targets`, rates by name for each target, and `measured`, the date, jaxlib and device of
        each target's measurement.

    Raises:
        UsageError: the file is not a rates file.
    """
    contents: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "targets": {}, "measured": {}}
    if not file.is_file():
        return contents
    try:
        found: _RatesFile = from_json(_RatesFile, parse_json(file.read_bytes()))
    except (ValueError, OSError) as error:
        raise UsageError(
            f"{file}: expected rates that `jxc calibrate` wrote: {error}; "
            "delete the file and run `jxc calibrate` again"
        ) from error
    return contents | {"targets": dict(found.targets), "measured": dict(found.measured)}
