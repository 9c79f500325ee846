"""The functions that a cell compiles, for `%%jxc doctor`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

from ..errors import JxcError
from ..events.listener import CompileEvent, LoweringEvent, TraceEvent, listening
from ..source import definition_line, is_user_file
from ..tools.doctor import DoctorResult, doctor

MOST_FUNCTIONS = 4
"""Functions of one cell that are examined; the others are named."""


class Calls:
    """The user's jitted functions that JAX traced, each with the types of its first arguments.

    It listens to JAX's traces (`listening`).

    Attributes:
        found: by definition, the name of each function, what `jax.jit` makes of it, and its
            arguments, with types in place of arrays.
    """

    keep_texts = False

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = {}

    @classmethod
    @contextlib.contextmanager
    def recorded(cls) -> Iterator[Calls]:
        """The calls in a block."""
        __tracebackhide__ = "__ipython_bottom__"
        calls = cls()
        with listening(calls):
            yield calls

    def examine(self, target: str) -> Iterator[DoctorResult | str]:
        """The findings in each function, or why it has none.

        Args:
            target: the hardware, such as "tpu:v5e:2x2".
        """
        if not self.found:
            yield "jxc doctor: the cell compiled no function; run it in a fresh kernel, or call one"
        for name, function, args, kwargs in list(self.found.values())[:MOST_FUNCTIONS]:
            try:
                yield doctor(function, *args, target=target, **kwargs)
            except JxcError as error:
                yield f"jxc doctor: {name}: {error}"
        if left := [name for name, *_ in list(self.found.values())[MOST_FUNCTIONS:]]:
            yield f"jxc doctor: not examined: {', '.join(left)}; call jxc.doctor for each"

    def trace_begins(self, event: TraceEvent) -> None:
        defined = definition_line(event.function)
        if not event.is_own or defined is None or not is_user_file(defined.file):
            return
        options = event.options
        jitted = jax.jit(
            event.function,
            static_argnums=options.static_argnums,
            static_argnames=options.static_argnames,
            donate_argnums=options.donate_argnums,
            donate_argnames=options.donate_argnames,
        )
        args, kwargs = jax.tree.map(_type_of, (tuple(event.args), dict(event.kwargs)))
        self.found.setdefault(str(defined), (defined.function, jitted, args, kwargs))

    def trace_ends(self, event: TraceEvent) -> None: ...

    def lowered(self, event: LoweringEvent) -> None: ...

    def compiled(self, event: CompileEvent) -> None: ...


def _type_of(leaf: Any) -> Any:
    """The type of an array; other values, such as numbers, as they are."""
    if isinstance(leaf, jax.Array):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    return leaf
