"""Shardy's native passes, run in a child process.

Some of its passes abort the process, or read memory that is not theirs, on modules that XLA would
never pass to them. jxc runs inside the user's program, so these passes run in a child: a crash
loses one answer. The child verifies a module before and after its passes.
"""

from __future__ import annotations

import atexit
import io
import math
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from ..child import Child, ChildLost, serve
from ..errors import JxcError
from ._private import register_inliner
from .module import make_context, register_native_passes, walk

_LIMIT_S = 60.0  # of processor time for one request; a large training step takes below 1 s
_MOST_CRASHES = 3  # a start of the child takes 0.4 s, so a program that crashes it often would wait


class ShardyError(JxcError):
    """Shardy's passes failed on a module; the message says how."""


def run_shardy(module: ir.Operation, passes: str) -> ir.Module:
    """A copy of a module after native passes, without the values of its large constants.

    Args:
        module: the module, which is not changed. Discardable attributes on its ops are kept.
        passes: a pipeline in MLIR's textual syntax.

    Raises:
        ShardyError: the module is invalid before or after the passes, a pass failed, or the passes
            crashed the child, or crashed it too often before.
    """
    kind, answer = _client().run(_written(module), passes)
    if kind == "failed":
        raise ShardyError(
            f"Shardy's passes, which XLA runs too, failed on this program: {answer}. Without them "
            "jxc cannot keep how the program is split over devices; MLIR's own passes still run."
        )
    return ir.Module.parse(answer, module.context)


class _Client:
    """The child, and how often it has crashed."""

    def __init__(self) -> None:
        self._child = Child(__name__, _LIMIT_S)
        self._crashes = 0
        atexit.register(self._child.close)

    def run(self, module: bytes, passes: str) -> tuple[str, Any]:
        if self._crashes == _MOST_CRASHES:
            return "failed", f"they crashed {_MOST_CRASHES} times in this process"
        try:
            found: tuple[str, Any] = self._child.ask((module, passes))
        except (ChildLost, OSError) as error:
            self._crashes += 1
            return "failed", str(error)
        return found


@cache
def _client() -> _Client:
    return _Client()


_MOST_ELEMENTS = 65_536  # of a constant whose values are sent: MLIR folds no larger ones


def _written(module: ir.Operation) -> bytes:
    """The bytecode of a module, with one value for all elements of each large constant."""
    copy = module.clone(ip=False).operation
    with module.context:
        for op in walk(copy):
            if op.operation.name == "stablehlo.constant" and not _is_small(op):
                kind = str(op.results[0].type)
                op.attributes["value"] = _of_one_value(kind) or op.attributes["value"]
    code = io.BytesIO()
    copy.write_bytecode(code)
    return code.getvalue()


def _is_small(op: ir.OpView) -> bool:
    try:
        value = op.attributes["value"]
    except TypeError:  # complex numbers, whose attribute the bindings cannot hold
        return True
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        return True
    size: int = math.prod(ir.RankedTensorType(op.results[0].type).shape)
    return size <= _MOST_ELEMENTS


def _of_one_value(kind: str) -> ir.Attribute | None:
    """A constant of a type; None for Booleans. Nothing is folded for 3, as `x + 0` is for 0."""
    for three in ("3", "3.0"):
        with suppress(ir.MLIRError):
            return ir.Attribute.parse(f"dense<{three}> : {kind}")
    return None


# Inside the child

_LONGEST_MESSAGE = 300  # characters
_MODULES_PER_CONTEXT = 1000  # a context takes 5 ms to make, and keeps what it has parsed


def main() -> None:
    """Answer modules with modules until the parent closes the pipe."""
    register_native_passes()
    requests = count()
    context = None

    def answer(request: tuple[bytes, str]) -> tuple[str, Any]:
        nonlocal context
        if next(requests) % _MODULES_PER_CONTEXT == 0:
            context = make_context()
            register_inliner(context)
        assert context is not None
        try:
            return "done", _transformed(*request, context)
        except Exception as error:
            return "failed", " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_MESSAGE]

    serve(answer)


def _transformed(code: bytes, passes: str, context: ir.Context) -> bytes:
    module = ir.Module.parse(code, context)
    PassManager.parse(passes, context).run(module.operation)
    found = io.BytesIO()
    module.operation.write_bytecode(found)
    return found.getvalue()
