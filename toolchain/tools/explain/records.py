"""What is recorded of a running program: one value per program on its way through JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...source import SourceLine
from ..page import ProgramTexts


@dataclass(frozen=True)
class Difference:
    """One way in which a call differs from the earlier one that it nearly matched.

    Attributes:
        kind: "shape", "dtype", "weak type", "static value", "structure", "metadata" (what a pytree
            holds beside arrays), "sharding", "function", "closure" or "configuration".
        where: the argument, such as "batch['x']"; empty where it is not about one.
        before: in the earlier call, in words.
        after: in this one.
    """

    kind: str
    where: str
    before: str
    after: str


@dataclass(frozen=True)
class Reason:
    """Why a function that had been compiled was compiled again.

    Attributes:
        nearest: the number of the earlier compilation that this call nearly matched.
        differences: what differs from it.
        sentence: all of it in words.
        fix: what to do about it, in words.
    """

    nearest: int
    differences: tuple[Difference, ...]
    sentence: str
    fix: str


@dataclass
class Compilation:
    """One program on its way through JAX.

    Attributes:
        number: from 1, in the order in which they began.
        function: its name, as the user wrote it.
        defined: where the function is defined.
        called: the user's line that called it.
        arguments: the avals by argument, such as {"x": "f32[8,128]"}.
        static: the static arguments' values in words.
        started: seconds since recording began.
        seconds: by stage, in order: "trace", "lower", "passes", "compile" or "load".
        ops: StableHLO ops that JAX lowered, None where it did not come so far.
        flops: by XLA's count, None where it gives none.
        peak_bytes: of the executable, None where XLA tells nothing.
        temporary_bytes: of those, what is neither argument nor result; likewise.
        cache_key: of JAX's persistent cache, empty where that is off.
        from_cache: whether the executable came out of the persistent cache.
        reason: why it was compiled again; None the first time.
        texts: the stages, where they were asked for.
        is_eager: whether it is one operation of jax's that was called outside of any jit.
        thread: the name of the thread.
    """

    number: int
    function: str
    defined: SourceLine | None = None
    called: SourceLine | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    static: Mapping[str, str] = field(default_factory=dict)
    started: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    ops: int | None = None
    flops: float | None = None
    peak_bytes: int | None = None
    temporary_bytes: int | None = None
    cache_key: str = ""
    from_cache: bool = False
    reason: Reason | None = None
    texts: ProgramTexts | None = None
    is_eager: bool = False
    thread: str = ""

    @property
    def is_compiled(self) -> bool:
        """Whether it came to an executable: what `jax.eval_shape` traces does not."""
        return "compile" in self.seconds or "load" in self.seconds

    def as_json(self) -> dict[str, Any]:
        """All but the texts."""
        return {
            "number": self.number,
            "function": self.function,
            "defined": str(self.defined) if self.defined else None,
            "called": str(self.called) if self.called else None,
            "arguments": dict(self.arguments),
            "static": dict(self.static),
            "started": self.started,
            "seconds": dict(self.seconds),
            "ops": self.ops,
            "flops": self.flops,
            "peak_bytes": self.peak_bytes,
            "temporary_bytes": self.temporary_bytes,
            "cache_key": self.cache_key,
            "from_cache": self.from_cache,
            "reason": asdict(self.reason) if self.reason else None,
            "eager": self.is_eager,
            "thread": self.thread,
        }
