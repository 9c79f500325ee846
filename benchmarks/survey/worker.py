"""Measure cases of the survey in this process: JSON cases on standard input, a JSON line for each.

Each line has the case's key and `failed`, `same` (the key of a case with the same program) or the
measurements. The driver, `run.py`, ends this process if a case takes too long.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from compiling import compile_program

import jxc
from jxc.backend.timing import time_ratio, timing_rounds
from jxc.check.deviation import compare_calls
from jxc.cost.rates import rates_of
from jxc.cost.roofline import bandwidth, cache_bandwidth, peak_flops
from survey.arguments import argument, is_array
from survey.cases import TYPES, Case

LEAST_ROUNDS, ROUNDS, SECONDS = 3, 9, 1.0
COMPILE_ROUNDS, COMPILE_SECONDS = 2, 2.0
_CACHED = 1 << 20  # bytes that the last cache holds for sure


class NotTaken(Exception):
    """The function does not take arguments of this element type, or has no gradient."""


def measured(case: Case, seen: dict[str, str], known: dict[str, str]) -> dict[str, Any]:
    """The record of a case. Adds its program to `seen`, which maps programs to keys.

    If O2 makes the program that `known` has for the key, the record says so and nothing runs.

    Raises:
        NotTaken: the case does not exist.
        Exception: JAX cannot trace, compile or run it.
    """
    function, args = program_of(case)
    text = str(jax.jit(function).lower(*args).compiler_ir("stablehlo"))
    digest = _digest(text)
    if seen.setdefault(digest, case.key) != case.key:
        return {"same": seen[digest], "program": digest}
    if case.key in known:
        optimised = str(jxc.lower(function, *args).opt("O2").module)
        if _digest(optimised) == known[case.key]:
            return {"unchanged": True}
    record: dict[str, Any] = {"program": digest}
    calls = _compiled(function, args, record)
    record["limit"] = _limit(calls["plain"])
    if "O2" in calls:
        deviation = compare_calls(calls["plain"], calls["O2"], args, {})
        record |= {"agrees": deviation.agrees, "error": deviation.error}
    runs = {name: partial(call, *args) for name, call in calls.items()}
    record |= _timed(runs)
    is_forward = case.mode == "forward" and case.type == "f32"
    if is_forward or not record.get("agrees", True):
        record["errors"] = _errors(case, runs)
    if is_forward:
        # Not in alternation: the threads of torch keep the cores busy after a call.
        for name, run in _others(case, runs["plain"]).items():
            record["seconds"] |= _timed({name: run})["seconds"]
    return record


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def program_of(case: Case) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The traced function of a case and its arguments, on the device."""
    code = compile(case.call, case.key, "eval")
    names = [name for name in _names(code) if is_array(name)]
    function = getattr(importlib.import_module(case.module), case.name)
    scope = {"f": function, "jax": jax, "jnp": jnp, "optimizer": _optimizer}

    def forward(*arrays: Any) -> Any:
        return eval(code, scope | dict(zip(names, arrays, strict=True)))

    arrays = [_of_type(argument(name, case.size), case.type) for name in names]
    args = tuple(jax.device_put(each) for each in arrays)
    if case.mode == "vmap":
        if not args:
            raise NotTaken("has no arguments")
        return jax.vmap(forward), args
    if case.mode == "gradient":
        return _gradient(forward, args), args
    return forward, args


def _names(code: Any) -> list[str]:
    inner = [_names(each) for each in code.co_consts if hasattr(each, "co_names")]
    return list(dict.fromkeys(itertools.chain(code.co_names, *inner)))


def _of_type(array: Any, name: str) -> Any:
    if isinstance(array, dict):
        return {key: _of_type(each, name) for key, each in array.items()}
    if array.dtype != np.float32 or name == "f32":
        return array
    if name == "c64":
        return array + 1j * np.flip(array)
    return jnp.asarray(array * (10 if name == "i32" else 1), TYPES[name])


def _optimizer(transformation: Any) -> Callable[..., Any]:
    def updates(params: Any, grads: Any) -> Any:
        return transformation.update(grads, transformation.init(params), params)[0]

    return updates


def _gradient(forward: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """The gradient of half the sum of squares of the results, by all floating-point arguments."""

    def is_real(leaf: Any) -> bool:
        return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)

    by = [i for i, arg in enumerate(args) if all(map(is_real, jax.tree.leaves(arg)))]
    if not by or not any(map(is_real, jax.tree.leaves(jax.eval_shape(forward, *args)))):
        raise NotTaken("has no floating-point argument or result")

    def loss(*arrays: Any) -> Any:
        leaves = [leaf for leaf in jax.tree.leaves(forward(*arrays)) if is_real(leaf)]
        return sum(0.5 * (jnp.abs(leaf) ** 2).sum() for leaf in leaves)

    return jax.grad(loss, argnums=tuple(by))


def _compiled(function: Any, args: tuple[Any, ...], record: dict[str, Any]) -> dict[str, Any]:
    """The executables; O2's only if XLA makes another program of it."""
    calls: dict[str, Any] = {}
    start = perf_counter()
    for count in range(COMPILE_ROUNDS):
        if count and perf_counter() - start > COMPILE_SECONDS:
            break
        for name in ("plain", "O2"):
            found = compile_program(name, function, args)
            costs = record.setdefault(name, {"lower": [], "passes": [], "xla": []})
            for stage in ("lower", "passes", "xla"):
                costs[stage].append(getattr(found, stage))
            costs["temporaries"] = found.temporaries
            calls[name] = found.call
            if name == "O2":
                record |= {"rules": found.rules, "optimised": _digest(found.text)}
    if _text(calls["plain"]) == _text(calls["O2"]):
        del calls["O2"]
    return calls


def _text(call: Any) -> str:
    """The optimized HLO without locations and numbers of names."""
    text = re.sub(r", metadata=\{[^}]*\}|(?<=[\w])\.\d+|HloModule \S+", "", call.as_text())
    return re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(.+\n)*", "\n", text)


def _limit(call: Any) -> float:
    """Seconds of the roofline of this machine: arithmetic, or arguments and results moved once."""
    rates = rates_of("cpu")
    costs = call.cost_analysis() or {}
    memory = call.memory_analysis()
    moved = memory.argument_size_in_bytes + memory.output_size_in_bytes
    speed = cache_bandwidth(rates) if moved <= _CACHED else bandwidth(rates)
    return max(costs.get("flops", 0.0) / peak_flops(rates)["f32"], moved / speed)


def _errors(case: Case, runs: dict[str, Any]) -> dict[str, float]:
    """The largest error of each against float64, relative to the largest value there."""
    try:
        with jax.enable_x64(True):
            function, args = program_of(replace(case, type="f64"))
            exact = _floats(jax.jit(function)(*args))
    except Exception:
        return {}
    return {
        name: error
        for name, run in runs.items()
        if (error := _distance(exact, _floats(run()))) is not None
    }


def _floats(tree: Any) -> list[np.ndarray]:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return [leaf for leaf in leaves if np.issubdtype(leaf.dtype, np.inexact)]


def _distance(exact: list[np.ndarray], found: list[np.ndarray]) -> float | None:
    if not exact or [each.shape for each in exact] != [each.shape for each in found]:
        return None
    worst = 0.0
    for one, other in zip(exact, found, strict=True):
        if one.size == 0:
            continue
        with np.errstate(all="ignore"):
            difference, scale = np.abs(one - other), np.abs(one)
        is_finite = np.isfinite(difference) & np.isfinite(scale)
        if is_finite.any():
            largest = scale[is_finite].max() or 1.0
            worst = max(worst, float(difference[is_finite].max() / largest))
    return worst


# Other libraries: the function of the same name, if it returns the same

_NUMPY = {"jax.numpy": "numpy", "jax.numpy.linalg": "numpy.linalg", "jax.numpy.fft": "scipy.fft"}
_NUMPY |= {"jax.lax": "numpy", "jax.nn": "scipy.special", "jax.lax.linalg": "scipy.linalg"}
_TORCH = {"jax.numpy": "torch", "jax.numpy.linalg": "torch.linalg", "jax.numpy.fft": "torch.fft"}
_TORCH |= {
    "jax.lax": "torch",
    "jax.nn": "torch.nn.functional",
    "jax.scipy.special": "torch.special",
}
_TORCH_CALLS = {
    "f(image, window, (1, 1), 'SAME')": "torch.conv2d(image, window, padding=1)",
    "f(image1, wide, (1, 1), 'SAME')": "torch.conv2d(image1, wide, padding=wide.shape[-1] // 2)",
    "f(x, axis=0)": "f(x, dim=0)",
    "f(x, axis=1)": "f(x, dim=1)",
    "f(v)": "f(v, 0)",
    "f(x, 0.3)": "f(x.ravel(), 0.3)",
    "f(qkv, qkv, qkv)": "f(*[qkv.transpose(1, 2)] * 3).transpose(1, 2)",
}


def _others(case: Case, plain: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    """NumPy's or SciPy's call, and torch's, if they agree with JAX within a part in a hundred."""
    code = compile(case.call, case.key, "eval")
    arrays = {name: argument(name, case.size) for name in _names(code) if is_array(name)}
    expected = jax.tree.leaves(plain())
    found: dict[str, Callable[[], Any]] = {}
    scipy = case.module.replace("jax.", "", 1) if case.module.startswith("jax.scipy") else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library, module, call, given in (
            ("numpy", scipy or _NUMPY.get(case.module), case.call, arrays),
            ("torch", _TORCH.get(case.module), _TORCH_CALLS.get(case.call, case.call), None),
        ):
            if not module:
                continue
            try:
                scope: dict[str, Any] = {"jnp": np}
                if given is None:
                    torch = importlib.import_module("torch")
                    given = {name: torch.from_numpy(each) for name, each in arrays.items()}
                    scope = {"torch": torch}
                scope |= given
                if "f(" in call:
                    scope["f"] = _attribute(module, case.name)
                run = partial(eval, compile(call, case.key, "eval"), scope)
                results = jax.tree.leaves(run())
                if _are_views(results, given.values()):
                    continue
                if _is_same(expected, [np.asarray(each) for each in results]):
                    found[library] = run
            except Exception:
                continue
    return found


def _are_views(results: list[Any], given: Iterable[Any]) -> bool:
    """Whether nothing was computed: results of JAX, numbers of Python, or views of arguments."""
    arrays = [np.asarray(each) for each in given if not isinstance(each, dict)]
    computed = [each for each in results if hasattr(each, "shape")]
    return not computed or all(
        isinstance(each, jax.Array) or any(np.may_share_memory(each, array) for array in arrays)
        for each in computed
    )


def _attribute(module: str, name: str) -> Any:
    """A function of a module, where the last part of the module may be an object."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        parent, _, last = module.rpartition(".")
        found = getattr(importlib.import_module(parent), last)
    return getattr(found, name)


def _is_same(expected: list[Any], found: list[np.ndarray]) -> bool:
    if len(expected) != len(found):
        return False
    return all(
        np.shape(one) == other.shape
        and np.allclose(np.asarray(one), other, rtol=1e-2, atol=1e-2, equal_nan=True)
        for one, other in zip(expected, found, strict=True)
    )


def _timed(runs: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Seconds of each: all rounds; and O2's ratio with its interval."""
    start, rounds = perf_counter(), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for count, each in enumerate(timing_rounds(runs)):
            rounds.append(each)
            enough = count + 1 >= LEAST_ROUNDS and perf_counter() - start > SECONDS
            if enough or count + 1 >= ROUNDS:
                break
    seconds = {name: [each[name] for each in rounds] for name in runs}
    found: dict[str, Any] = {"seconds": seconds}
    if "O2" in seconds:
        ratio = time_ratio(seconds["plain"], seconds["O2"])
        found["ratio"] = [ratio.ratio, ratio.low, ratio.high]
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    given = json.load(sys.stdin)
    seen = given["seen"]
    compile_program("O2", jnp.sin, (jnp.ones(3),))  # imports, first use of XLA
    for fields in given["cases"]:
        case = Case(**fields)
        try:
            with jax.enable_x64(case.type == "f64"):
                record = measured(case, seen, given["known"])
        except NotTaken as error:
            record = {"failed": f"not taken: {error}"}
        except Exception as error:
            lines = str(error).strip().splitlines()
            record = {"failed": f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]}
        print(json.dumps({"key": case.key} | record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
