"""From Python to a module: find the function, read its arguments, trace and lower it.

Importing this package imports neither jax nor MLIR: the command line reads its names for `--help`,
and makes a request before it forks.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMS = ("jaxpr", "stablehlo", "bytecode", "portable", "hlo")
"""What `jxc lower --emit` writes: JAX's jaxpr, the module as text or bytecode, a StableHLO portable
artifact for other versions of StableHLO, or the text of HLO before XLA optimizes it."""

BINARY_FORMS = ("bytecode", "portable")

PLATFORMS = ("cpu", "tpu", "cuda", "rocm")
"""The platforms that JAX lowers for, by its own names."""


def kind_of_platform(platform: str) -> str:
    """The kind of hardware of a JAX platform: "cpu", "gpu" or "tpu"."""
    return "gpu" if platform in ("cuda", "rocm") else platform


@dataclass(frozen=True)
class LowerRequest:
    """A function, its arguments and the hardware to lower for, as the user spelled them.

    `target` is `file.py:fn` or `pkg.mod:fn`; `specs` are argument specs; `args_from` names a
    function that returns the arguments; `static` holds `NAME=VALUE`s; `mesh` is `AXIS=SIZE,...`;
    `sharding` holds `NAME=SPEC`s, or names a function that returns all shardings for a mesh. The
    rest is as for `lower`.
    """

    target: str
    specs: tuple[str, ...] = ()
    args_from: str | None = None
    static: tuple[str, ...] = ()
    transform: str | None = None
    platform: str | None = None
    x64: bool = False
    mesh: str | None = None
    sharding: tuple[str, ...] = ()
    concrete: bool = False
