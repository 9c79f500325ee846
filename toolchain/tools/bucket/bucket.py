"""`jxc.bucket`: a function for arrays of many lengths, compiled for a few.

A call pads its arrays to the next size, runs the program of that size, and cuts the results. Before
the first call of each length, `rows.check_rows` proves that padding cannot change the results;
with `vmap=True` that holds by construction.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import jax
import jax.numpy as jnp
import numpy as np

from ...backend.lowered import lower
from ...backend.signature import CallSignature
from ...cost.padding import POWERS, bucket_of, propose, read_sizes
from ...errors import UsageError
from ...ir import clone_module
from ...ir.locations import inline_calls
from .rows import check_rows

P = ParamSpec("P")
R = TypeVar("R")
Axes = int | tuple[int | None, ...]


@dataclass(frozen=True)
class BucketReport:
    """The calls of a bucketed function so far, and their padding.

    Attributes:
        calls: the number of calls.
        rows: the rows of the arguments.
        padded: the rows that were added.
        compilations: the number of compiled programs.
        sizes: the number of calls of each size.
    """

    calls: int
    rows: int
    padded: int
    compilations: int
    sizes: dict[int, int]

    @property
    def waste(self) -> float:
        """The padded fraction of all rows, from 0 to 1."""
        return self.padded / max(self.rows + self.padded, 1)

    def __str__(self) -> str:
        used = ", ".join(f"{size}: {count}" for size, count in sorted(self.sizes.items()))
        return (
            f"{self.calls} calls, {self.compilations} programs compiled, "
            f"{self.waste:.1%} of the rows were padding; calls by size: {used or 'none'}"
        )


class BucketedFunction(Generic[P, R]):
    """A function that pads an axis to the next size. Made by `jxc.bucket`.

    Attributes:
        lengths: how often it was called with each length; `jxc.bucket.propose` takes it.
    """

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(
        self,
        fn: Callable[P, R],
        sizes: tuple[int, ...] | None,
        in_axes: Axes,
        out_axes: int,
        vmap: bool,
        jit_kwargs: dict[str, Any],
    ) -> None:
        functools.update_wrapper(self, fn)
        self._sizes, self._in_axes, self._out_axes = sizes, in_axes, out_axes
        self._is_mapped = vmap
        self._jitted: Any = jax.jit(self._mapped(fn) if vmap else fn, **jit_kwargs)
        self._signature = CallSignature(self._jitted)
        self._proven: dict[Hashable, list[bool]] = {}
        self._programs: set[Hashable] = set()
        self._padded: Counter[int] = Counter()
        self.lengths: Counter[int] = Counter()

    def __repr__(self) -> str:
        sizes = POWERS if self._sizes is None else list(self._sizes)
        name = getattr(self, "__qualname__", repr(self.__wrapped__))
        return f"<jxc.bucket of {name}, sizes {sizes}, called {self.lengths.total()} times>"

    def _mapped(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn` for all rows. Keyword arguments have no rows."""

        @functools.wraps(fn)
        def over_rows(*args: Any, **kwargs: Any) -> Any:
            axes = self._axes(args)
            one = functools.partial(fn, **kwargs)
            return jax.vmap(one, in_axes=axes, out_axes=self._out_axes)(*args)

        return over_rows

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function at the next size, and cut the results to the length."""
        length = self._length(args)
        size = bucket_of(length, self._sizes)
        if not length:  # the program is not run: without rows it might not end
            shape = jax.eval_shape(self._jitted, *args, **kwargs)
            empty = jax.tree.map(lambda each: jnp.zeros(each.shape, each.dtype), shape)
            return cast(R, empty)
        padded = tuple(
            arg
            if axis is None
            else jax.tree.map(functools.partial(_pad, axis=axis, size=size), arg)
            for arg, axis in zip(args, self._axes(args), strict=True)
        )
        has_rows = self._has_rows(args, padded, kwargs, length, size)
        self.lengths[length] += 1
        self._padded[size] += 1
        self._programs.add(self._signature.split(padded, kwargs)[0])
        outputs: R = self._jitted(*padded, **kwargs)
        if length == size:
            return outputs
        leaves, tree = jax.tree.flatten(outputs)
        cut = [
            _cut(leaf, self._out_axes, length) if of_rows else leaf
            for leaf, of_rows in zip(leaves, has_rows, strict=True)
        ]
        return cast(R, jax.tree.unflatten(tree, cut))

    def report(self) -> BucketReport:
        """The calls so far, and their padding."""
        rows = sum(length * count for length, count in self.lengths.items())
        whole = sum(size * count for size, count in self._padded.items())
        calls = sum(self.lengths.values())
        return BucketReport(calls, rows, whole - rows, len(self._programs), dict(self._padded))

    def _axes(self, args: tuple[Any, ...]) -> tuple[int | None, ...]:
        if isinstance(self._in_axes, int):
            return (self._in_axes,) * len(args)
        if len(self._in_axes) != len(args):
            raise UsageError(
                f"jxc.bucket: in_axes has {len(self._in_axes)} entries for {len(args)} "
                "positional arguments: expected one for each"
            )
        return self._in_axes

    def _length(self, args: tuple[Any, ...]) -> int:
        """The length of the axis, which must be the same in all arguments that have it."""
        lengths = {
            np.shape(leaf)[axis] if axis < np.ndim(leaf) else -1
            for arg, axis in zip(args, self._axes(args), strict=True)
            if axis is not None
            for leaf in jax.tree.leaves(arg)
        }
        if len(lengths) == 1 and -1 not in lengths:
            return lengths.pop()
        found = ", ".join("no such axis" if each < 0 else str(each) for each in sorted(lengths))
        raise UsageError(
            f"jxc.bucket: expected arguments of one length in the varying axis (in_axes="
            f"{self._in_axes}), found {found or 'no arrays'}: pass None for arguments without it"
        )

    def _has_rows(self, args: Any, padded: Any, kwargs: Any, length: int, size: int) -> list[bool]:
        """For each result, whether it has rows; proves first that rows are kept apart."""
        if length == size:
            return []
        key = (length, self._signature.split(padded, kwargs)[0])
        if key in self._proven:
            return self._proven[key]
        if self._is_mapped:
            shape = jax.eval_shape(self._jitted, *padded, **kwargs)
            self._proven[key] = [True] * len(jax.tree.leaves(shape))
            return self._proven[key]
        modules = []
        for given in (args, padded):
            lowered = lower(self._jitted, *map(_shapes, given), **_shapes(kwargs))
            modules.append(clone_module(lowered.module))
            inline_calls(modules[-1].operation)
        axes = [self._out_axes] * len(jax.tree.leaves(lowered.jax_lowered.out_info))
        self._proven[key] = check_rows(modules[0], modules[1], (length, size), axes)
        return self._proven[key]


def _shapes(arg: Any) -> Any:
    """An argument with shapes in place of tracers, as under `jax.grad`."""

    def shape(leaf: Any) -> Any:
        if not isinstance(leaf, jax.core.Tracer):
            return leaf
        aval = jax.typeof(leaf)
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)

    return jax.tree.map(shape, arg)


def _pad(leaf: Any, axis: int, size: int) -> Any:
    """Repeat the last row, since the function accepts it as input."""
    more = size - np.shape(leaf)[axis]
    if not more:
        return leaf
    numbers, whole = (np, np.asarray(leaf)) if _is_on_host(leaf) else (jnp, leaf)
    last = _rows(whole, axis, slice(-1, None))
    return numbers.concatenate([whole, numbers.repeat(last, more, axis=axis)], axis=axis)


def _cut(leaf: Any, axis: int, length: int) -> Any:
    if _is_on_host(leaf):
        return jnp.asarray(_rows(np.asarray(leaf), axis, slice(length)))
    return _rows(leaf, axis, slice(length))


def _rows(array: Any, axis: int, rows: slice) -> Any:
    return array[(slice(None),) * (axis % array.ndim) + (rows,)]


def _is_on_host(leaf: Any) -> bool:
    """Whether numpy can access an array; JAX would compile a program for each length."""
    if not isinstance(leaf, jax.Array):
        return True
    if isinstance(leaf, jax.core.Tracer):
        return False
    is_number = not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)
    return is_number and all(each.platform == "cpu" for each in leaf.devices())


class _BucketDecorator(Protocol):
    """The type of `jxc.bucket`: a function with the attribute `propose`."""

    @overload
    def __call__(
        self,
        fn: Callable[P, R],
        /,
        *,
        sizes: str | Iterable[int] = POWERS,
        in_axes: Axes = 0,
        out_axes: int = 0,
        vmap: bool = False,
        **jit_kwargs: Any,
    ) -> BucketedFunction[P, R]: ...
    @overload
    def __call__(
        self,
        fn: None = None,
        /,
        *,
        sizes: str | Iterable[int] = POWERS,
        in_axes: Axes = 0,
        out_axes: int = 0,
        vmap: bool = False,
        **jit_kwargs: Any,
    ) -> Callable[[Callable[P, R]], BucketedFunction[P, R]]: ...

    def propose(
        self,
        lengths: Iterable[int] | Mapping[int, int],
        *,
        buckets: int | None = None,
        max_waste: float | None = None,
    ) -> tuple[int, ...]:
        """See `jxc.cost.padding.propose`."""


def _with_propose(function: Any) -> _BucketDecorator:
    function.propose = propose
    return cast(_BucketDecorator, function)


@_with_propose
def bucket(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    sizes: str | Iterable[int] = POWERS,
    in_axes: Axes = 0,
    out_axes: int = 0,
    vmap: bool = False,
    **jit_kwargs: Any,
) -> Any:
    """Compile `fn` for a few sizes of an axis, and pad each call to the next size.

    It can also be used as a decorator. A call is padded by repeating its last row, and its results
    are cut to the length. That is right only if each row of the results is computed from one row of
    the arguments:

    - With `vmap=True`, `fn` is written for one row, and `jax.vmap` maps it over the rows.
    - Otherwise the program is lowered at the length and at the size, and every op is checked. If an
      op mixes rows (a mean over them, for example), or the number of rows is used, the call raises
      an error with the op and its line. The check runs once for each length and compiles nothing.

    Rounding may differ between sizes, since XLA may add in another order.

    Args:
        fn: the function; None when called as `@jxc.bucket(sizes=...)`.
        sizes: "powers-of-two", or a list. `jxc.bucket.propose(lengths)` finds a good one.
        in_axes: the axis of varying length in each array of each positional argument; or a tuple
            with one axis for each argument, None for those without it. Keyword arguments do not
            have it.
        out_axes: the axis of varying length in the results that have it.
        vmap: whether `fn` is written for one row.
        jit_kwargs: passed to `jax.jit`: static_argnames, ...

    Returns:
        The function, with `lengths` (calls by length) and `report()` (calls, compilations,
        padding).

    Raises:
        UsageError: the sizes are invalid; or in a call: a length exceeds the largest size, or
            arguments differ in length.
        MixedRows: in a call: an op mixes rows.
    """
    if fn is None:
        return functools.partial(
            bucket, sizes=sizes, in_axes=in_axes, out_axes=out_axes, vmap=vmap, **jit_kwargs
        )
    axes = in_axes if isinstance(in_axes, int) else tuple(in_axes)
    return BucketedFunction(fn, read_sizes(sizes), axes, out_axes, vmap, jit_kwargs)
