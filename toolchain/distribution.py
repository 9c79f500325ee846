"""The name under which jxc is installed: `jxc` on the Python Package Index is another project."""

from __future__ import annotations

import os
import sys

DISTRIBUTION = "jxc-compiler"

CLASH = (
    "another project's distribution, 'jxc', installs a module of the same name in {folder}. Remove "
    "it and repair this one: pip uninstall jxc && "
    f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
)
"""What to say where both are in one environment."""


def pip_install(extra: str) -> str:
    """The command that installs an extra of jxc."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def versions() -> dict[str, str]:
    """The installed versions of jxc, jax and jaxlib."""
    from importlib.metadata import version  # 20 ms, and importing jxc imports this module

    names = {"jxc": DISTRIBUTION, "jax": "jax", "jaxlib": "jaxlib"}
    return {name: version(each) for name, each in names.items()}


def refuse_another_project(package: str) -> None:
    """Check that no other project installed a module into the folder of this one.

    Args:
        package: the folder of this module `jxc`.

    Raises:
        ImportError: one did; the message says what to do. The command `jxc` ends with it.
    """
    folder = os.path.dirname(package)
    try:
        names = os.listdir(folder)
    except OSError:  # in a zip file, for one
        return
    for name in names:
        if name.startswith("jxc-") and name.endswith(".dist-info"):
            message = CLASH.format(folder=folder)
            if [os.path.basename(each) for each in sys.argv[:1]] == ["jxc"]:  # the command
                sys.exit(f"jxc: error: {message}")
            raise ImportError(message)
