"""A module's function on the reference interpreter, with arguments from files, literals or a seed.

`jxc translate --interpret` prints what this returns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxlib.mlir import ir

from ..errors import UsageError
from ..files import read_arrays
from ..ir.constants import array_of
from .inputs import KINDS, CannotRun, Spec, complex_array, kind_and_seed, make_inputs, specs_of
from .modules import entry_names, main_type, with_main
from .run import Interpreter


def entry_of(module: ir.Module, name: str | None) -> ir.Module:
    """The module with the function to interpret as @main.

    Args:
        module: any module.
        name: the function; @main when None, or the only public one.

    Raises:
        UsageError: there is no such function, or several could be meant.
    """
    names = entry_names(module)
    if name is None:
        name = "main" if "main" in names or len(names) != 1 else names[0]
    if name not in names:
        found = ", ".join(f"@{each}" for each in names) or "none"
        raise UsageError(f"expected a public function @{name}; the module has: {found}")
    return module if name == "main" else with_main(module, name)


def make_arguments(module: ir.Module, given: Sequence[str], how: str) -> list[np.ndarray]:
    """The arguments of @main.

    Args:
        module: a module with @main.
        given: `.npy` files, one for each argument; `.npz` files, whose arrays are arguments in
            order; or literals of MLIR such as "[dense<1.0> : tensor<4xf32>]". When empty, the
            arguments are made by `how`.
        how: a kind of `inputs.KINDS`, by default with the seed 0, or with one as "normal:7"; or
            "zeros".

    Raises:
        UsageError: a file cannot be read, the arrays do not fit the types of @main, or `how` is
            malformed.
        CannotRun: an argument is not a tensor of numbers with a static shape.
    """
    specs = specs_of(main_type(module).inputs)
    if not given:
        if how == "zeros":
            return [np.zeros(spec.shape, spec.dtype) for spec in specs]
        return make_inputs(specs, *parse_kind(how))
    arrays = [array for each in given for array in _read(each, module.context)]
    if len(arrays) == len(specs):
        arrays = [_typed(array, spec) for array, spec in zip(arrays, specs, strict=True)]
    found = [Spec(array.shape, array.dtype) for array in arrays]
    if found != specs:
        raise UsageError(f"expected arguments {_spell(specs)}; found {_spell(found)}")
    return arrays


def parse_kind(how: str) -> tuple[str, int]:
    """The kind and the seed of `make_arguments(how=...)`.

    Raises:
        UsageError: there is no such kind, or the seed is not a number.
    """
    kind, seed = kind_and_seed(how)
    if seed is None or not (kind in KINDS or how == "zeros"):
        raise UsageError(
            f"--input {how:.80}: expected {', '.join(KINDS)} or zeros, with a seed as in normal:7"
        )
    return kind, seed


def interpret(module: ir.Module, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of @main on the reference interpreter, in the dtypes of @main.

    Raises:
        CannotRun: the interpreter lacks an op.
    """
    specs = specs_of(main_type(module).results)
    interpreter = Interpreter(math.inf)
    try:
        parts = iter(interpreter.run(module, arguments))
    finally:
        interpreter.close()
    return [narrowed(parts, spec) for spec in specs]


def narrowed(parts: Iterator[np.ndarray], spec: Spec) -> np.ndarray:
    """The next result of an engine in its own type; the inverse of `run.widen`."""
    first = next(parts)
    if spec.dtype.kind == "c":
        return complex_array(spec, first, next(parts))
    return first.astype(spec.dtype).reshape(spec.shape)


def _read(given: str, context: ir.Context) -> list[np.ndarray]:
    if given.lstrip().startswith("["):
        return _literals(given, context)
    if not Path(given).exists():
        raise UsageError(
            f"--args {given}: no such file; expected FILE.npy, FILE.npz or "
            "'[dense<1.0> : tensor<4xf32>, ...]'"
        )
    arrays = read_arrays(given)
    return list(arrays.values()) if isinstance(arrays, dict) else [arrays]


def _typed(array: np.ndarray, spec: Spec) -> np.ndarray:
    """The array with the type of `spec` where numpy's files do not name it, as of bfloat16."""
    is_unnamed = array.dtype.kind == "V" and array.dtype.itemsize == spec.dtype.itemsize
    return array.view(spec.dtype) if is_unnamed and spec.dtype.isbuiltin != 1 else array


def _literals(text: str, context: ir.Context) -> list[np.ndarray]:
    """The arrays in a list of dense attributes in MLIR's syntax."""
    try:
        with context, ir.Location.unknown():
            parsed = ir.Module.parse(
                "".join(
                    f"%{n} = stablehlo.constant {each}\n" for n, each in enumerate(_items(text))
                )
            )
            arrays = [array_of(op.result) for op in parsed.body.operations]
    except (ir.MLIRError, ValueError) as error:
        why = str(error).strip().splitlines()[-1]
        raise UsageError(
            f"--args: expected '[dense<1.0> : tensor<4xf32>, ...]', got {text}: {why}"
        ) from None
    if any(array is None for array in arrays):
        raise CannotRun(f"--args {text}: numpy has no such element type")
    return [np.array(array) for array in arrays]


def _items(text: str) -> Iterator[str]:
    """The items of a list in brackets, split at its commas outside of inner brackets."""
    inner = text.strip().removeprefix("[").removesuffix("]")
    depth, start = 0, 0
    for index, char in enumerate(inner):
        depth += (char in "<[(") - (char in ">])")
        if char == "," and not depth:
            yield inner[start:index]
            start = index + 1
    if inner[start:].strip():
        yield inner[start:]


def _spell(specs: Sequence[Spec]) -> str:
    return ", ".join(f"{s.dtype.name}[{','.join(map(str, s.shape))}]" for s in specs) or "none"


def show(arrays: Sequence[np.ndarray], module: ir.Module) -> str:
    """The results with their types, as text; numpy omits the middle of large arrays."""
    kinds = main_type(module).results
    texts = [np.array2string(array, separator=", ") for array in arrays]
    return "".join(
        f"[{number}] {kind}\n{text}\n"
        for number, (kind, text) in enumerate(zip(kinds, texts, strict=True))
    )
