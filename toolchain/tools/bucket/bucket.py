"""`jxc.bucket`: a function for arrays of many lengths, compiled for a few."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...backend.lowered import lower
from ...errors import UsageError
from ...ir import clone_module
from ...ir.locations import inline_calls
from ..debug.locate import CallSignature
from .rows import Lengths, check_rows
from .sizes import POWERS, bucket_of, propose, read_sizes

Axes = int | tuple[int | None, ...]


@dataclass(frozen=True)
class BucketReport:
    """What padding cost so far.

    Attributes:
        calls: how often the function was called.
        rows: how many rows it was given.
        padded: how many rows were added.
        compilations: how many programs were compiled.
        sizes: how many calls each size of bucket had.
    """

    calls: int
    rows: int
    padded: int
    compilations: int
    sizes: dict[int, int]

    @property
    def waste(self) -> float:
        """The fraction of all rows that was padding, from 0 to 1."""
        return self.padded / max(self.rows + self.padded, 1)

    def __str__(self) -> str:
        used = ", ".join(f"{size}: {count}" for size, count in sorted(self.sizes.items()))
        return (
            f"{self.calls} calls, {self.compilations} programs compiled, "
            f"{self.waste:.1%} of the rows were padding; calls by size: {used or 'none'}"
        )


class Bucketed:
    """A function that pads an axis to the next size. Made by `jxc.bucket`.

    Attributes:
        lengths: how often it was called with each length: what `jxc.bucket.propose` takes.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        sizes: tuple[int, ...] | None,
        in_axes: Axes,
        out_axes: int,
        vmap: bool,
        jit_kwargs: dict[str, Any],
    ) -> None:
        functools.update_wrapper(self, fn)
        self._sizes, self._in_axes, self._out_axes = sizes, in_axes, out_axes
        self._is_mapped = vmap
        self._jitted = jax.jit(self._mapped(fn) if vmap else fn, **jit_kwargs)
        self._signature = CallSignature(self._jitted)
        self._proven: dict[Hashable, Any] = {}
        self._programs: set[Hashable] = set()
        self._padded: Counter[int] = Counter()
        self.lengths: Counter[int] = Counter()

    def _mapped(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn` over rows; keyword arguments are the same for all."""

        @functools.wraps(fn)
        def over_rows(*args: Any, **kwargs: Any) -> Any:
            axes = self._axes(args)
            one = functools.partial(fn, **kwargs)
            return jax.vmap(one, in_axes=axes, out_axes=self._out_axes)(*args)

        return over_rows

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        length = self._length(args)
        size = bucket_of(length, self._sizes)
        if not length:
            return self._empty(args, kwargs)
        padded = self._resized(args, lambda leaf, axis: _pad(leaf, axis, size))
        has_rows = self._has_rows(args, padded, kwargs, length, size)
        self.lengths[length] += 1
        self._padded[size] += 1
        self._programs.add(self._signature.split(padded, kwargs)[0])
        outputs = self._jitted(*padded, **kwargs)
        if length == size:
            return outputs
        leaves, tree = jax.tree.flatten(outputs)
        cut = [
            _cut(leaf, self._out_axes, length) if of_rows else leaf
            for leaf, of_rows in zip(leaves, has_rows, strict=True)
        ]
        return jax.tree.unflatten(tree, cut)

    def report(self) -> BucketReport:
        """What padding cost so far."""
        rows = sum(length * count for length, count in self.lengths.items())
        whole = sum(size * count for size, count in self._padded.items())
        calls = sum(self.lengths.values())
        return BucketReport(calls, rows, whole - rows, len(self._programs), dict(self._padded))

    def _axes(self, args: tuple[Any, ...]) -> tuple[int | None, ...]:
        if isinstance(self._in_axes, int):
            return (self._in_axes,) * len(args)
        if len(self._in_axes) != len(args):
            raise UsageError(
                f"jxc.bucket: in_axes has {len(self._in_axes)} entries, and the function was given "
                f"{len(args)} positional arguments: expected one for each"
            )
        return self._in_axes

    def _length(self, args: tuple[Any, ...]) -> int:
        """The extent of the axis, the same in all arguments that have it."""
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
            f"jxc.bucket: expected arguments of one length in the axis that varies (in_axes="
            f"{self._in_axes}), found {found or 'no arrays'}: give None for those without it"
        )

    def _resized(self, args: tuple[Any, ...], resize: Callable[[Any, int], Any]) -> tuple[Any, ...]:
        return tuple(
            arg
            if axis is None
            else jax.tree.map(functools.partial(_on_axis, resize=resize, axis=axis), arg)
            for arg, axis in zip(args, self._axes(args), strict=True)
        )

    def _has_rows(self, args: Any, padded: Any, kwargs: Any, length: int, size: int) -> list[bool]:
        """Which results are to be cut, once rows are seen to be kept apart."""
        if length == size:
            return []
        key = (length, self._signature.split(padded, kwargs)[0])
        if key not in self._proven:
            self._proven[key] = self._prove(args, padded, kwargs, Lengths(length, size))
        return self._proven[key]

    def _prove(self, args: Any, padded: Any, kwargs: Any, lengths: Lengths) -> list[bool]:
        if self._is_mapped:
            shape = jax.eval_shape(self._jitted, *padded, **kwargs)
            return [True] * len(jax.tree.leaves(shape))
        modules = []
        for given in (args, padded):
            lowered = lower(self._jitted, *map(_shapes, given), **_shapes(kwargs))
            module = clone_module(lowered.module)
            inline_calls(module.operation)
            modules.append(module)
        count = len(jax.tree.leaves(lowered.jax_lowered.out_info))
        return check_rows(modules[0], modules[1], lengths, [self._out_axes] * count)

    def _empty(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What no rows give, without computing anything: a loop over none might not end."""
        shape = jax.eval_shape(self._jitted, *args, **kwargs)
        return jax.tree.map(lambda each: jnp.zeros(each.shape, each.dtype), shape)


def _shapes(arg: Any) -> Any:
    """An argument with the shapes in place of traced arrays: under `jax.grad`, say."""
    return jax.tree.map(_shape, arg)


def _shape(leaf: Any) -> Any:
    if not isinstance(leaf, jax.core.Tracer):
        return leaf
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def _on_axis(leaf: Any, resize: Callable[[Any, int], Any], axis: int) -> Any:
    return resize(leaf, axis)


def _pad(leaf: Any, axis: int, size: int) -> Any:
    """Repeat the last row: it is one that the function can work on."""
    more = size - np.shape(leaf)[axis]
    if not more:
        return leaf
    index = [slice(None)] * np.ndim(leaf)
    index[axis] = slice(-1, None)
    numbers: Any = np if _is_here(leaf) else jnp
    whole = np.asarray(leaf) if numbers is np else leaf
    return numbers.concatenate(
        [whole, numbers.repeat(whole[tuple(index)], more, axis=axis)], axis=axis
    )


def _cut(leaf: Any, axis: int, length: int) -> Any:
    index = [slice(None)] * np.ndim(leaf)
    index[axis] = slice(length)
    if not _is_here(leaf):
        return leaf[tuple(index)]
    return jnp.asarray(np.asarray(leaf)[tuple(index)])


def _is_here(leaf: Any) -> bool:
    """Whether numpy can work on an array where it is: JAX would compile a program a length."""
    if not isinstance(leaf, jax.Array):
        return True
    if isinstance(leaf, jax.core.Tracer):
        return False
    is_number = not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)
    return is_number and all(each.platform == "cpu" for each in leaf.devices())


class _Bucket:
    """`jxc.bucket`, and what belongs to it."""

    propose = staticmethod(propose)

    def __call__(
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        sizes: str | Iterable[int] = POWERS,
        in_axes: Axes = 0,
        out_axes: int = 0,
        vmap: bool = False,
        **jit_kwargs: Any,
    ) -> Any:
        """Compile `fn` for a few lengths of an axis, and pad to the next. A decorator too.

        A call is padded to the next size by repeating its last row, and the results are cut to the
        length again. That is right where each row of the results is made of one row of the
        arguments alone, and this is made sure of: with `vmap=True` `fn` is written for one row, and
        `jax.vmap` is run over it; otherwise the program is lowered at the length and at the size,
        and looked through op by op. A function that takes a mean over the rows, or uses how many
        there are, is refused, with the op and its line. So much is done once for each length, and
        costs a trace, not a compilation.

        Rounding is XLA's: at another size it may add up in another order.

        Args:
            fn: the function; None when called as `@jxc.bucket(sizes=...)`.
            sizes: "powers-of-two", or a list. `jxc.bucket.propose(lengths)` finds one.
            in_axes: the axis that varies, in each array of each positional argument; or a tuple
                with one for each argument, None for those that do not have it. Keyword arguments do
                not have it.
            out_axes: where it is in the results that have it.
            vmap: whether `fn` is for one row.
            jit_kwargs: passed to `jax.jit`: static_argnames, ...

        Returns:
            A function with `lengths`, and `report()`: calls, compilations, the fraction of padding.

        Raises:
            UsageError: the sizes make no sense; in a call: a length is beyond the largest, or
                arguments differ in length.
            MixedRows: in a call: rows are mixed.
        """
        if fn is None:
            return functools.partial(
                self.__call__,
                sizes=sizes,
                in_axes=in_axes,
                out_axes=out_axes,
                vmap=vmap,
                **jit_kwargs,
            )
        axes = in_axes if isinstance(in_axes, int) else tuple(in_axes)
        return Bucketed(fn, read_sizes(sizes), axes, out_axes, vmap, jit_kwargs)


bucket = _Bucket()
