"""Tracing and lowering: from a Python function to a jaxpr to a StableHLO module.

`lower` fixes static arguments, applies transforms, places shardings on the arguments, and calls
jax.jit's `trace` and `lower`. Symbolic dimensions go through `jax.export`, which makes the module
that takes the user's arguments and computes the dimensions from them.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any

from jaxlib.mlir import ir

from ..errors import UsageError
from . import _private
from .checks import calls_python, check_arguments, check_devices, check_leaks
from .constants import CapturedConstant, captured_constants
from .diagnose import TracedCall, explaining
from .mesh import make_mesh, platform_for, record_mesh, sizes_of, within
from .shardings import result_shardings, shard_arguments
from .transform import Transform, parse_transform


@dataclass(frozen=True)
class LoweredFunction:
    """A traced and lowered function.

    `function` is the user's; `traced` and `lowered` are JAX's stages; `mesh` has the size of each
    axis that the program is sharded over, in order; `trace_seconds` and `lower_seconds` are times.
    """

    function: Callable[..., Any]
    traced: Any
    lowered: Any
    trace_seconds: float = field(default=0.0, compare=False)
    lower_seconds: float = field(default=0.0, compare=False)
    mesh: Mapping[str, int] = field(default_factory=dict)
    _exported: Any = field(default=None, repr=False, compare=False)
    _call: Any = field(default=None, repr=False, compare=False)
    _over: Any = field(default=None, repr=False, compare=False)

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self.traced.jaxpr

    @functools.cached_property
    def module(self) -> ir.Module:
        """The StableHLO module. It belongs to JAX: clone it before changing it."""
        if self._exported is None:
            return self.lowered.compiler_ir("stablehlo")
        from ..ir import make_context, read_module

        return read_module(self._exported.mlir_module_serialized, make_context())

    def for_platform(self, platform: str) -> LoweredFunction:
        """The same trace, lowered for another platform.

        Raises:
            TraceError: it cannot be lowered for that platform; the message names the line.
        """
        start = time.perf_counter()
        with within(self._over), explaining(self._call):
            lowered = _lowered(self.traced, (platform,))
        seconds = time.perf_counter() - start
        again = replace(self, lowered=lowered, lower_seconds=seconds)
        return replace(again, mesh=record_mesh(again.module, self._over, self._call.name))

    @property
    def is_symbolic(self) -> bool:
        """Whether a dimension is symbolic."""
        return self._exported is not None

    @functools.cached_property
    def constants(self) -> tuple[CapturedConstant, ...]:
        """The arrays that the function captures, the largest first."""
        return captured_constants(self.jaxpr, self.function)


def lower(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    static: Mapping[str | int, Any] | None = None,
    transform: str | Transform | None = None,
    platform: str | None = None,
    device: Any = None,
    jit_kwargs: Mapping[str, Any] | None = None,
    mesh: Any = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    concrete: bool = False,
) -> LoweredFunction:
    """Trace and lower `fn`.

    Args:
        fn: a function, or one that jax.jit already wrapped: its static arguments, donation and
            shardings stand.
        args: its positional arguments: arrays, `jax.ShapeDtypeStruct`s, pytrees of them.
        kwargs: its keyword arguments.
        static: values by name, or by position from 0, that are fixed while tracing. They are bound
            before `transform`, whose argnums and in_axes count the other arguments only.
        transform: see `parse_transform`; applied to `fn` from the inside out.
        platform: one of `frontend.PLATFORMS`; its hardware need not be present.
        device: a `jax.Device` to lower for.
        jit_kwargs: for jax.jit, when `fn` is not jitted yet.
        mesh: what to lower over: sizes by axis such as {"data": 4}, the same as text, or a JAX
            mesh. It is abstract, and needs no devices, unless `concrete`. Unnamed shardings are
            left to XLA.
        in_shardings: a dict from names to `PartitionSpec`s, or, as for jax.jit, a prefix of the
            positional arguments. A name is an argument, a position, or a path into one, in which
            `*` within brackets matches any key. The most specific name counts.
        out_shardings: the same for results, which are `result` or positions.
        concrete: lower over the devices of this machine, so that the result can run here.

    Raises:
        UsageError: `fn` is jitted and `static` or `jit_kwargs` is given; a bad transform; a static
            argument that `fn` does not have; arguments that do not fit; a bad mesh or sharding.
        MissingTargetError: there are fewer devices than a concrete mesh has.
        TraceError: the function cannot be traced or lowered; the message names its line.
    """
    import jax

    args, kwargs = tuple(args), dict(kwargs or {})
    transform = parse_transform(transform) if isinstance(transform, str) else transform
    if not static and not transform:
        fn, args, kwargs = _without_settings(fn, args, kwargs)
    bound = _bind_static(fn, dict(static)) if static else fn
    transformed = transform(bound) if transform else bound
    call = TracedCall(fn, transformed, args, kwargs)
    check_arguments(call)
    check_devices(transform, args)
    over = make_mesh(mesh, platform=platform, device=device, concrete=concrete)
    sharded = TracedCall(fn, transformed, *shard_arguments(call, over, in_shardings))
    on_device = nullcontext() if device is None else jax.default_device(device)
    with on_device, within(over), explaining(call):
        jitted, args = _jitted(sharded, jit_kwargs, over, out_shardings)
        lowering = _lower(sharded, jitted, args, platform_for(over, platform))
    lowering = replace(lowering, _call=call, _over=over)
    if lowering.is_symbolic:
        return replace(lowering, mesh=sizes_of(over))
    return replace(lowering, mesh=record_mesh(lowering.module, over, call.name))


def _lower(call: TracedCall, jitted: Any, args: Any, platform: str | None) -> LoweredFunction:
    import jax
    from jax import export

    kwargs, platforms = call.kwargs, (platform,) if platform else None
    start = time.perf_counter()
    traced = jitted.trace(*args, **kwargs)
    inner = getattr(traced, "traced", None)  # of flax.nnx.jit, whose arguments are modules
    traced = inner if isinstance(inner, jax.stages.Traced) else traced
    traced_at = time.perf_counter()
    check_leaks(traced, call)
    lowered = _lowered(traced, platforms)
    shapes = [getattr(leaf, "shape", ()) for leaf in jax.tree.leaves((args, kwargs))]
    exported = None
    if any(export.is_symbolic_dim(dim) for shape in shapes for dim in shape):
        exported = export.export(jitted, platforms=platforms)(*args, **kwargs)
    end = time.perf_counter()
    times = (traced_at - start, end - traced_at)
    return LoweredFunction(call.function, traced, lowered, *times, _exported=exported)


def _lowered(traced: Any, platforms: tuple[str, ...] | None) -> Any:
    try:
        return traced.lower(lowering_platforms=platforms)
    except Exception:
        if not (platforms and calls_python(traced)):
            raise
        with _private.callbacks_of_absent_hardware():
            return traced.lower(lowering_platforms=platforms)


# jax.jit


def is_jitted(fn: Any) -> bool:
    """Whether `fn` is jitted, and so has `trace` and `lower`."""
    return callable(getattr(fn, "trace", None)) and callable(getattr(fn, "lower", None))


def _jitted(
    call: TracedCall, jit_kwargs: Mapping[str, Any] | None, mesh: Any, out_shardings: Any
) -> tuple[Any, Any]:
    """A jitted function, and the arguments to trace it with."""
    import jax

    fn, args = call.traced, call.args
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn):
        raise UsageError(
            f"{_name(fn)} is a generator or coroutine function: expected one that returns arrays. "
            "Wrap it in a function that collects what it yields."
        )
    if not is_jitted(fn):
        jit = functools.partial(jax.jit, fn, **(jit_kwargs or {}))
        if out_shardings is None:
            return jit(), args
        results = jit().trace(*args, **call.kwargs).out_info
        return jit(out_shardings=result_shardings(out_shardings, mesh, results)), args
    if out_shardings is not None:
        raise UsageError(
            f"{_name(fn)} is already jitted, with its own out_shardings.\n"
            "  Add .__wrapped__ to its name for the function inside."
        )
    if jit_kwargs:
        raise UsageError(
            f"{_name(fn)} is already jitted; expected a plain function with {', '.join(jit_kwargs)}"
        )
    if isinstance(fn, MethodType):  # its .trace is that of the function, without self
        return fn.__func__, (fn.__self__, *args)
    return fn, args


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


# Static arguments


def _without_settings(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """For a function of `equinox.filter_jit`: it with its settings, and the arguments without.

    Such a function has `lower` but no `trace`. It traces arrays, and keeps other leaves as they
    are, such as the number of features in a module.
    """
    import jax

    if is_jitted(fn) or not callable(getattr(fn, "lower", None)):
        return fn, args, kwargs
    leaves, tree = jax.tree.flatten((args, kwargs))
    settings = {at: leaf for at, leaf in enumerate(leaves) if not hasattr(leaf, "shape")}
    if not settings:
        return fn, args, kwargs

    @functools.wraps(fn)
    def applied(*args: Any, **kwargs: Any) -> Any:
        given = [
            settings.get(at, leaf) for at, leaf in enumerate(tree.flatten_up_to((args, kwargs)))
        ]
        own, named = tree.unflatten(given)
        return fn(*own, **named)

    rest = [None if at in settings else leaf for at, leaf in enumerate(leaves)]
    return applied, *tree.unflatten(rest)


def _bind_static(fn: Callable[..., Any], static: dict[str | int, Any]) -> Callable[..., Any]:
    """`fn` with the arguments in `static` fixed and gone from its signature."""
    if is_jitted(fn):
        name = next(iter(static))
        raise UsageError(
            f"{_name(fn)} is already jitted, with its own static arguments.\n"
            f"  Give the value as an argument instead: {name}={next(iter(static.values()))!r}"
        )
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError) as error:
        raise UsageError(f"{_name(fn)} has no signature to find static arguments in") from error
    fixed = {_static_name(fn, key, parameters): value for key, value in static.items()}
    order = [p.name for p in parameters if p.kind in _POSITIONAL]

    @functools.wraps(fn)
    def bound(*args: Any, **kwargs: Any) -> Any:
        woven = _weave(order, fixed, args)
        beyond = {name: value for name, value in fixed.items() if name not in order[: len(woven)]}
        return fn(*woven, **beyond, **kwargs)

    left = [p for p in parameters if p.name not in fixed]
    bound.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
    return bound


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _weave(order: list[str], fixed: dict[str, Any], args: tuple[Any, ...]) -> list[Any]:
    """The positional arguments with static ones inserted, up to the last one given."""
    given, woven = list(args), []
    for name in order:
        if not given:
            break
        woven.append(fixed[name] if name in fixed else given.pop(0))
    return woven + given


def _static_name(
    fn: Callable[..., Any], key: str | int, parameters: list[inspect.Parameter]
) -> str:
    """The parameter that a name or a position means."""
    names = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
    takes_any = len(names) < len(parameters)
    if isinstance(key, int) and key < len(names):
        return names[key]
    if isinstance(key, str) and (key in names or takes_any):
        return key
    raise UsageError(
        f"--static {key}: {_name(fn)} has no such argument; it has {', '.join(names) or 'none'}"
    )
