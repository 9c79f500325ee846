"""How fast a target is: figures measured once, which decisions about rewrites compare.

A `Rate` is declared beside the decision that needs it, in a file of this room, with what it was on
the machine that jxc was developed on; `jxc calibrate` measures it on another machine and keeps what
it found in the user's configuration directory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import UsageError

SHIPPED_TARGET = "cpu"
"""The only target that figures are shipped for."""

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Rate:
    """A figure that depends on the machine.

    Attributes:
        name: kebab-case, unique, such as "sine-of-xla".
        doc: what takes that long, and its unit: "one element of stablehlo.sine, in ns".
        shipped: what it was under XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512.
    """

    name: str
    doc: str
    shipped: float


@dataclass(frozen=True)
class Rates:
    """The figures of one target.

    Attributes:
        target: "cpu", "gpu" or "tpu".
        measured: by name, what was measured where jxc runs; shipped figures stand in for the rest.
        source: where the measured figures are from, for messages; empty where there are none.
    """

    target: str = SHIPPED_TARGET
    measured: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    source: str = ""

    def __getitem__(self, rate: Rate) -> float:
        return self.measured.get(rate.name, rate.shipped)

    @property
    def decides(self) -> bool:
        """Whether to go by these figures: they are shipped, or some were measured on the target."""
        return self.target == SHIPPED_TARGET or bool(self.measured)


def rates_file() -> Path | None:
    """Where measured figures are kept; None where `JXC_RATES=shipped` says to use none.

    `JXC_RATES` names another file; `JXC_CONFIG_DIR`, `XDG_CONFIG_HOME` and the home directory are
    looked at after it.
    """
    named = os.environ.get("JXC_RATES", "")
    if named == "shipped":
        return None
    return Path(named) if named else config_directory() / "rates.json"


def config_directory() -> Path:
    """The directory of the user's own settings, as the platform has it."""
    if named := os.environ.get("JXC_CONFIG_DIR"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("jxc", appauthor=False)


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
    measured = figures_in(file)["targets"].get(target)
    if measured is None:
        return Rates(target)
    return Rates(target, MappingProxyType(measured), str(file))


def figures_in(file: Path) -> dict[str, Any]:
    """What a file of measured figures says; of no target where there is none.

    Returns:
        `targets`, figures by name for each target, and `measured`, when and on what they were.

    Raises:
        UsageError: the file is not one.
    """
    told: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "targets": {}, "measured": {}}
    if not file.is_file():
        return told
    try:
        found = json.loads(file.read_text())
        for target, figures in found["targets"].items():
            told["targets"][target] = {name: float(each) for name, each in figures.items()}
        return told | {"measured": dict(found.get("measured", {}))}
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UsageError(
            f"{file}: expected figures that `jxc calibrate` wrote, found {error!r}; "
            "delete the file and run `jxc calibrate` again"
        ) from error
