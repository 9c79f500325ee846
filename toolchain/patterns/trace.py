"""Tracing the functions of replacements with JAX: to patterns, and to functions that are inserted.

Each is lowered for the platform of the program, by JAX's rules for it; the hardware need not be
present. The results are modules in MLIR contexts of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxlib.mlir import ir

from ..errors import JxcError
from ..ir import make_context, read_module, write_bytecode
from ..ir.dtypes import numpy_dtype
from ..pipeline import make_pipeline, run_pipeline
from ..rewrite import PassContext, collect_remarks
from ..rewrite.actions import observe_rewrites
from ._private import interpreted_pallas, on_abstract_device
from .declare import Alternative, ArrayInput, ConstantInput, Declaration, SearchedFunction, match_of
from .pattern import Pattern

NORMAL_FORM = "inline,simplify"
"""The passes that bring patterns and programs into the same form."""

PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
"""The platform of JAX for each kind of hardware."""


@dataclass(frozen=True)
class Sizes:
    """The sizes, types and constants that a pattern is traced for.

    Attributes:
        dims: the size of each named dimension.
        dtypes: the element type of each array input.
        constants: the value of each constant input.
        target: the kind of hardware.
    """

    dims: Mapping[str, int]
    dtypes: Mapping[str, str]
    constants: Mapping[str, Any]
    target: str

    @property
    def key(self) -> tuple[Any, ...]:
        return (
            tuple(sorted(self.dims.items())),
            tuple(sorted(self.dtypes.items())),
            tuple(sorted(self.constants.items())),
            self.target,
        )


def array_type(given: ArrayInput, name: str, sizes: Sizes) -> Any:
    """The `jax.ShapeDtypeStruct` of an array input."""
    import jax

    shape = [sizes.dims[dim] if isinstance(dim, str) else dim for dim in given.dims]
    return jax.ShapeDtypeStruct(shape, numpy_dtype(sizes.dtypes[name]))


_MOST_PATTERNS = 64  # kept for each replacement: a program has few combinations of sizes


def pattern_of(
    replacement: Declaration, search: SearchedFunction, sizes: Sizes, *, with_gradient: bool
) -> Pattern:
    """The pattern of a search at given sizes, traced once.

    Raises:
        JxcError: the function cannot be traced or lowered.
    """
    kept: dict[Any, Pattern]
    kept, key = replacement.patterns, (id(search), sizes.key, with_gradient, _configuration())
    if key not in kept:
        while len(kept) >= _MOST_PATTERNS:
            kept.pop(next(iter(kept)))
        kept[key] = _traced(replacement, search, sizes, with_gradient=with_gradient)
    return kept[key]


def _configuration() -> tuple[Any, ...]:
    """The settings of JAX that change what it lowers."""
    import jax

    names = ("jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion")
    return tuple(str(getattr(jax.config, name)) for name in names)


def _traced(
    replacement: Declaration, search: SearchedFunction, sizes: Sizes, *, with_gradient: bool
) -> Pattern:
    """The pattern of a search at given sizes.

    Its arguments are the array inputs that the search has, and with the gradient a cotangent for
    each result. Its results are those of the function, and with the gradient those for each
    floating-point input.
    """
    module = search_module(replacement, search, sizes, with_gradient=with_gradient)
    normalize(module, PassContext(sizes.target))
    return Pattern(module)


def normalize(module: ir.Module, context: PassContext) -> None:
    """Bring a module into the form of patterns, in place."""
    # These passes are not part of the user's pipeline: their remarks and actions are not shown.
    with collect_remarks(), observe_rewrites(lambda *_: True):
        run_pipeline(module, make_pipeline(NORMAL_FORM), context)


def search_module(
    replacement: Declaration, search: SearchedFunction, sizes: Sizes, *, with_gradient: bool
) -> ir.Module:
    """The module of a search, not normalised. See `_traced` for its arguments and results.

    Raises:
        JxcError: the function cannot be traced or lowered.
    """
    import jax

    names = array_names(replacement, search)

    def flat(*values: Any) -> Any:
        arrays = iter(values)
        given = [
            next(arrays) if name in names else sizes.constants[name]
            for name in (*replacement.inputs, *search.constants)
            if name not in search.given
        ]
        return tuple(jax.tree.leaves(search.function(*given)))

    what = f"the search {search.name!r}"
    return _module(replacement, what, flat, names, sizes, with_gradient=with_gradient)


def alternative_module(
    replacement: Declaration,
    search: SearchedFunction,
    alternative: Alternative,
    sizes: Sizes,
    *,
    with_gradient: bool,
) -> ir.Module:
    """The module of an alternative for the CPU, with the arguments and results of a search's.

    Kernels of Pallas are in interpret mode.

    Raises:
        JxcError: the function cannot be traced, differentiated or lowered.
    """
    import jax

    names = array_names(replacement, search)
    values = {**sizes.constants, **search.given_for(sizes.constants)}

    def flat(*arguments: Any) -> Any:
        given = {**values, **dict(zip(names, arguments, strict=True))}
        results = alternative.function(*[given[name] for name in replacement.inputs])
        return tuple(jax.tree.leaves(results))

    what, on_cpu = f"the alternative {alternative.name!r}", replace(sizes, target="cpu")
    with interpreted_pallas():
        return _module(replacement, what, flat, names, on_cpu, with_gradient=with_gradient)


def _module(
    replacement: Declaration,
    what: str,
    flat: Callable[..., Any],
    names: Sequence[str],
    sizes: Sizes,
    *,
    with_gradient: bool,
) -> ir.Module:
    """The module of a function of arrays, or of the function and its gradient."""
    import jax

    types = [array_type(_array(replacement, name), name, sizes) for name in names]
    if not with_gradient:
        return lowered(replacement, what, flat, types, sizes.target)
    try:
        results = list(jax.eval_shape(flat, *types))
    except Exception as error:
        raise _failure(replacement, what, types, error) from error
    joint = _joint(flat, differentiable(replacement, names), len(types))
    return lowered(replacement, what, joint, [*types, *results], sizes.target)


def array_names(replacement: Declaration, search: SearchedFunction) -> list[str]:
    """The names of the inputs of a search that are arrays."""
    inputs = replacement.inputs.items()
    return [n for n, each in inputs if isinstance(each, ArrayInput) and n not in search.given]


def given_values(
    replacement: Declaration, search: SearchedFunction, sizes: Sizes
) -> dict[str, Any]:
    """The type or the value that an alternative receives for each input."""
    values = {**sizes.constants, **search.given_for(sizes.constants)}
    for name in array_names(replacement, search):
        values[name] = array_type(_array(replacement, name), name, sizes)
    return {name: values[name] for name in replacement.inputs}


def applies(alternative: Alternative, sizes: Sizes, given: Mapping[str, Any]) -> bool:
    """Whether `when` of an alternative is true for the sizes of a match and `given_values`."""
    match = match_of({**sizes.dims, **given, "target": sizes.target})
    return alternative.when is None or bool(alternative.when(match))


def constants_of(replacement: Declaration, search: SearchedFunction) -> dict[str, ConstantInput]:
    """The constants of the program that a search has, by name."""
    inputs = {**replacement.inputs, **search.constants}
    return {
        name: each
        for name, each in inputs.items()
        if isinstance(each, ConstantInput) and name not in search.given
    }


def _array(replacement: Declaration, name: str) -> ArrayInput:
    found = replacement.inputs[name]
    assert isinstance(found, ArrayInput)
    return found


def differentiable(replacement: Declaration, names: Sequence[str]) -> list[int]:
    """The positions among `names` of the inputs that have a gradient."""
    return [n for n, name in enumerate(names) if _array(replacement, name).is_float]


def _joint(flat: Callable[..., Any], places: Sequence[int], count: int) -> Callable[..., Any]:
    """The function's results and, for the cotangents after its arguments, its gradient."""

    def joint(*values: Any) -> Any:
        results, pullback = _vjp(flat, places, values[:count])
        return (*results, *pullback(values[count:]))

    return joint


def _vjp(function: Callable[..., Any], places: Sequence[int], values: Sequence[Any]) -> Any:
    """`jax.vjp` of a function with respect to its arguments at `places`."""
    import jax

    def at_places(*chosen: Any) -> Any:
        full = list(values)
        for place, value in zip(places, chosen, strict=True):
            full[place] = value
        return function(*full)

    return jax.vjp(at_places, *[values[place] for place in places])


def lowered(
    replacement: Declaration,
    what: str,
    function: Callable[..., Any],
    types: Sequence[Any],
    target: str,
) -> ir.Module:
    """The StableHLO module of a function, in a context of its own.

    Raises:
        JxcError: the function cannot be traced or lowered.
    """
    import jax

    try:
        with on_abstract_device(target):
            traced = jax.jit(function, keep_unused=True).trace(*types)
            module = traced.lower(lowering_platforms=(PLATFORMS[target],)).compiler_ir("stablehlo")
    except Exception as error:
        raise _failure(replacement, what, types, error) from error
    return read_module(write_bytecode(module), make_context())


def _failure(
    replacement: Declaration, what: str, types: Sequence[Any], error: Exception
) -> JxcError:
    shown = ", ".join(f"{each.dtype.name}[{','.join(map(str, each.shape))}]" for each in types)
    first = str(error).strip().partition("\n")[0]
    return JxcError(
        f"replacement {replacement.name!r}: {what} cannot be traced with {shown}: "
        f"{type(error).__name__}: {first}"
    )


def inserted(
    replacement: Declaration,
    alternative: Alternative,
    given: Sequence[Any],
    mapped: Sequence[Sequence[int | None]],
    target: str,
    *,
    with_gradient: bool,
    places: Sequence[int] = (),
    cotangents: Sequence[Any] = (),
) -> list[ir.Module]:
    """The modules of the function, or with the gradient of the forward and the backward function.

    Args:
        replacement: whose alternative it is.
        alternative: the function.
        given: for each input a `jax.ShapeDtypeStruct`, with the mapped dimensions in front, or the
            value of one that is not an array of the program.
        mapped: for each mapped dimension, outermost first, 0 for each input that has it, or None.
        target: the kind of hardware.
        with_gradient: whether the gradient is wanted.
        places: the positions of the inputs that have a gradient.
        cotangents: the types of the results, with the mapped dimensions in front.

    Raises:
        JxcError: the function cannot be traced, differentiated or lowered.
    """
    import jax

    arrays = [n for n, each in enumerate(given) if isinstance(each, jax.ShapeDtypeStruct)]
    what = f"the alternative {alternative.name!r}"

    def single(*values: Any) -> Any:
        full = list(given)
        for place, value in zip(arrays, values, strict=True):
            full[place] = value
        return tuple(jax.tree.leaves(alternative.function(*full)))

    function = single
    for axes in reversed(mapped):
        function = jax.vmap(function, in_axes=tuple(axes[n] for n in arrays))
    types = [given[n] for n in arrays]
    if not with_gradient:
        return [lowered(replacement, what, function, types, target)]
    kept: dict[str, Any] = {}

    def forward(*values: Any) -> Any:
        results, pullback = _vjp(function, places, values)
        residuals, kept["structure"] = jax.tree.flatten(pullback)
        kinds = map(jax.typeof, residuals)
        kept["types"] = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in kinds]
        return (*results, *residuals)

    first = lowered(replacement, what, forward, types, target)
    count = len(kept["types"])

    def backward(*values: Any) -> Any:
        pullback = jax.tree.unflatten(kept["structure"], values[:count])
        return tuple(pullback(tuple(values[count:])))

    types = [*kept["types"], *cotangents]
    second = lowered(replacement, f"the gradient of {what}", backward, types, target)
    return [first, second]
