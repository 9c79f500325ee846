"""The machine and the versions that a benchmark ran on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from install import REASONS

PACKAGES = ("jax", "jaxlib", "numpy", "keras", "transformers", "flax", "equinox", "jax_md")
PACKAGES += ("diffrax", "numpyro", "dynamax", "mujoco_mjx", "enzyme_ad")


def circumstances() -> dict[str, Any]:
    """The date, commit, machine, versions, rates, and the extras that could not be installed."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": sys.version.split()[0],
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "load": round(os.getloadavg()[0], 2),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "rates": _rates(),
        "not_installed": json.loads(REASONS.read_text()) if REASONS.exists() else {},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    folder = Path(__file__).parent
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _rates() -> str:
    from jxc.cost.rates import rates_of

    return rates_of("cpu").source or "shipped"
