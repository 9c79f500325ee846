"""What a listener hears of JAX: a trace, a lowering, a compilation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jaxlib.mlir import ir

from ...backend.log import PassTexts
from ...ir import count_ops
from ...source import SourceLine


@dataclass(eq=False)
class Tracing:
    """A function on its way to a jaxpr.

    Attributes:
        function: what was given to `jax.jit`, or what JAX itself jits: `jnp.add`, a primitive.
        options: what `jax.jit` was told, as JAX keeps it.
        mesh: the one in context.
        names: of the array arguments, such as "batch['x']".
        source: the function as JAX names it in its messages.
        avals: of the array arguments.
        args: the positional arguments, static ones too. Not to be kept.
        kwargs: those by keyword.
        called: the user's line; None where it is not a program of its own.
        is_own: whether it begins a program of its own; else an outer trace takes it in.
        seconds: of it, without programs that were compiled meanwhile.
        jaxpr: JAX's value, None where it failed.
        error: what it raised.
        notes: for each listener, what it has begun.
        spots: for each listener, the variables that it watches.
    """

    function: Any
    options: Any
    mesh: Any
    names: Sequence[str]
    source: str
    avals: Sequence[Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    called: SourceLine | None
    is_own: bool
    seconds: float = 0.0
    jaxpr: Any = None
    error: BaseException | None = None
    notes: dict[int, Any] = field(default_factory=dict)
    spots: dict[int, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Lowering:
    """A jaxpr that became a module.

    Attributes:
        name: the module's, such as "jit(step)".
        jaxpr: JAX's value.
        source: the function as JAX names it in its messages.
        names: of the arguments; empty where JAX does not know them.
        avals: of the arguments.
        layout: what else decides the program: shardings, donation, platforms, in words by name.
        module: what came of it.
        called: the user's line.
        seconds: of it.
    """

    name: str
    jaxpr: Any
    source: str
    names: Sequence[str]
    avals: Sequence[Any]
    layout: dict[str, tuple[str, ...]]
    module: ir.Module
    called: SourceLine | None
    seconds: float

    @cached_property
    def ops(self) -> int:
        """How many StableHLO ops the module holds."""
        return count_ops(self.module)


@dataclass(eq=False)
class Compiling:
    """A module that became an executable, or that JAX's persistent cache had one for.

    Attributes:
        module: as it was lowered.
        executable: jaxlib's.
        called: the user's line.
        seconds: of it, without passes.
        passes: of ours, None where there were none.
        key: of the persistent cache, empty where that is off.
        is_loaded: whether the executable came out of that cache.
    """

    module: ir.Module
    executable: Any
    called: SourceLine | None
    seconds: float
    passes: PassTexts | None
    key: str
    is_loaded: bool


class Listener:
    """Hears of what every thread compiles. What it raises ends its listening, not the program."""

    keep_texts = False
    """Whether it wants the module after each of our passes."""

    def begins(self, tracing: Tracing) -> None:
        """A function is about to be traced."""

    def ends(self, tracing: Tracing) -> None:
        """It was, or failed."""

    def lowered(self, lowering: Lowering) -> None:
        """A jaxpr became a module."""

    def compiled(self, compiling: Compiling) -> None:
        """A module became an executable."""
