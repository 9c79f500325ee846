"""A request to lower a function, as the command line spells it, and its execution.

`run_request` parses everything that needs no jax, sets the environment that jax reads when it is
imported, then imports the user's code, traces and lowers.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import LowerRequest
from .mesh import split_host
from .specs import ArgumentSpec, ArraySpec, parse_argument
from .target import FunctionTarget, TargetError, resolve_target, resolve_value
from .transform import Transform, parse_transform

if TYPE_CHECKING:
    from ..ir.shardings import Spec
    from .lowering import LoweredFunction


@dataclass(frozen=True)
class LoweredTarget:
    """The result of a request: the function, its arguments, and the lowered function."""

    target: FunctionTarget
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    lowering: LoweredFunction


def run_request(request: LowerRequest) -> LoweredTarget:
    """Import, trace and lower the function that `request` names.

    Errors that need no JAX are raised before JAX is imported. Output of the user's code goes to
    stderr: stdout is for the module.

    Raises:
        UsageError: a part of the request is malformed or does not fit.
        MissingTargetError: this machine lacks enough devices for a concrete mesh.
        ImportFailure, TraceError: the user's code failed; the message names its line.
    """
    parsed = _parse(request)
    if request.x64:
        os.environ["JAX_ENABLE_X64"] = "1"
    split_host(_devices_needed(parsed, concrete=request.concrete))
    with contextlib.redirect_stdout(sys.stderr):
        return _run(request, parsed)


@dataclass(frozen=True)
class _Parsed:
    """The parts of a request as values; they need no jax."""

    specs: list[ArgumentSpec]
    static: dict[str | int, Any]
    transform: Transform | None
    mesh: dict[str, int]
    inputs: dict[str, Spec]
    outputs: dict[str, Spec]
    sharding_function: str | None = None


def _parse(request: LowerRequest) -> _Parsed:
    from .arguments import parse_static

    specs = [parse_argument(text, position) for position, text in enumerate(request.specs, 1)]
    transform = parse_transform(request.transform) if request.transform else None
    static: dict[str | int, Any] = {}
    for name, value in map(parse_static, request.static):
        if name in static:
            raise UsageError(f"--static {name} is given twice")
        static[name] = value
    if request.args_from and request.specs:
        raise UsageError("expected argument specs or --args, found both: --args gives them all")
    if not (request.mesh or request.sharding):
        return _Parsed(specs, static, transform, {}, {}, {})
    from ..ir.shardings import parse_mesh
    from .shardings import parse_shardings

    if not request.mesh:
        raise UsageError("--sharding needs a mesh: --mesh AXIS=SIZE,..., such as --mesh data=4")
    if transform and transform.has("pmap"):
        raise UsageError("expected --mesh or pmap, found both: pmap makes a mesh of its own")
    mesh = parse_mesh(request.mesh)
    return _Parsed(specs, static, transform, mesh, *parse_shardings(request.sharding))


def _devices_needed(parsed: _Parsed, *, concrete: bool) -> int:
    """The number of devices that a pmap or a concrete mesh needs."""
    if parsed.transform and parsed.transform.has("pmap"):  # maps over an array's first dimension
        arrays = itertools.chain.from_iterable(_arrays(spec.value) for spec in parsed.specs)
        return next((n for a in arrays if a.dims and isinstance(n := a.dims[0], int)), 1)
    return math.prod(parsed.mesh.values()) if concrete else 1


def _arrays(value: Any) -> Iterator[ArraySpec]:
    if isinstance(value, ArraySpec):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)


def _run(request: LowerRequest, parsed: _Parsed) -> LoweredTarget:
    from .arguments import build_arguments, split_arguments

    target = resolve_target(request.target)
    if request.x64:  # again: importing the user's file may have turned it off
        import jax

        jax.config.update("jax_enable_x64", True)
    own = _own_values(request, target)
    if request.args_from or "arguments" in own:
        source = resolve_value(request.args_from) if request.args_from else own["arguments"]
        args, kwargs = split_arguments(_made(source))
    else:
        args, kwargs = build_arguments(parsed.specs)
    from .lowering import lower
    from .mesh import make_mesh
    from .shardings import check_names, split_shardings

    mesh = make_mesh(parsed.mesh or None, platform=request.platform, concrete=request.concrete)
    check_names(target.function, args, kwargs, parsed.outputs)
    shardings: tuple[Any, Any] = (parsed.inputs or None, parsed.outputs or None)
    function = parsed.sharding_function
    if function or "shardings" in own:
        source = _sharding_function(function) if function else own["shardings"]
        shardings = split_shardings(_made(source, mesh), args)
    lowering = lower(
        target.function,
        args,
        kwargs,
        static=parsed.static,
        transform=parsed.transform,
        platform=request.platform,
        mesh=mesh,
        in_shardings=shardings[0],
        out_shardings=shardings[1],
    )
    return LoweredTarget(target, args, kwargs, lowering)


def _sharding_function(name: str) -> Any:
    try:
        return resolve_value(name)
    except TargetError as error:
        raise TargetError(f"--sharding {name}: {error}") from None


def _own_values(request: LowerRequest, target: FunctionTarget) -> dict[str, Any]:
    """The functions `arguments` and `shardings` in the file of a function that is given neither.

    A function that needs no arguments gets none.
    """
    if request.specs or request.args_from or request.static or not _needs_arguments(target):
        return {}
    names = ["arguments"]
    if request.mesh and not request.sharding:
        names.append("shardings")
    own = {name: getattr(target.module, name, None) for name in names}
    return (
        {name: value for name, value in own.items() if callable(value)} if own["arguments"] else {}
    )


def _needs_arguments(target: FunctionTarget) -> bool:
    try:
        inspect.signature(target.function).bind()
    except TypeError:
        return True
    except ValueError:  # it has no signature
        return False
    return False


def _made(source: Any, *args: Any) -> Any:
    """The value that `--args` or `--sharding` names; the result if it is a function."""
    if not callable(source):
        return source
    from .checks import check_arguments
    from .diagnose import TracedCall, explaining

    call = TracedCall(source, source, args, {})
    check_arguments(call)
    with explaining(call):
        return source(*args)
