"""The greatest error of a function before and after its rule, over its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import reduce
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jxc

from .functions import Function

CHUNK = 2**18
"""The number of arguments per call: few enough that the arrays fit into a cache."""

SPARSE = 16
"""XLA's own function may be slow, and is measured on one of so many arguments."""

TINY = 2.0**-126
GREATEST = 2.0**128 - 2.0**103
"""The least float64 that rounds to an infinite f32."""

SPECIAL = np.array(
    [
        *(0.0, 1e-45, 1e-40, TINY, 1e-30, 1e-10, 0.1, 1 / 3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0),
        *(7.0, 12.0, 2.0**24 - 1, 2.0**24, 1e10, 1e30, 3.4028235e38, np.inf, np.nan),
    ],
    np.float32,
)


@dataclass
class Error:
    """The largest error of a program so far.

    Attributes:
        ulps: the largest distance to the true value, in units in its last place.
        at: the arguments with that distance, as hexadecimal floats.
        misplaced: the number of arguments with a wrong NaN, infinity or sign.
        denormals: the number of denormal arguments with an error of more than an ulp, or
            misplaced; they count nowhere else.
        inputs: the number of arguments.
    """

    ulps: float = 0.0
    at: tuple[str, ...] = ()
    misplaced: int = 0
    denormals: int = 0
    inputs: int = 0

    def note(self, found: np.ndarray, wanted: list[np.ndarray], args: list[np.ndarray]) -> None:
        """Add the errors of `found`; any one of the alternatives in `wanted` is correct."""
        wide = found.astype(np.float64)
        errors = reduce(np.minimum, [np.asarray(_errors(wide, each)) for each in wanted])
        self.inputs += errors.size
        if len(wanted) > 1:
            errors = self._without_denormals(errors, args)
        if not errors.max() > self.ulps:
            return
        is_misplaced = np.isinf(errors)
        self.misplaced += int(is_misplaced.sum())
        worst = int(np.where(is_misplaced, 0.0, errors).argmax())
        if self.ulps < errors[worst] < np.inf:
            self.ulps = float(errors[worst])
            self.at = tuple(float(arg[worst]).hex() for arg in args)

    def _without_denormals(self, errors: np.ndarray, args: list[np.ndarray]) -> np.ndarray:
        is_denormal = reduce(np.logical_or, [(arg != 0) & (np.abs(arg) < TINY) for arg in args])
        self.denormals += int((is_denormal & (errors > 1)).sum())
        return np.where(is_denormal, 0.0, errors)


@jax.jit
def _errors(found: jax.Array, wanted: jax.Array) -> jax.Array:
    """Errors in ulps of the true value; infinite for a wrong NaN, infinity or sign.

    Both arguments are float64. A denormal result may be flushed to zero.
    """
    exponent = (lax.bitcast_convert_type(wanted, jnp.int64) >> 52) & 0x7FF
    ulp = lax.bitcast_convert_type(jnp.maximum(exponent - 23, 1023 - 149) << 52, jnp.float64)
    is_flushed = (found == 0) & (jnp.abs(wanted) < TINY)
    overflows = jnp.isinf(found) & (jnp.abs(wanted) >= GREATEST)
    errors = jnp.where(is_flushed | overflows, 0.0, jnp.abs(found - wanted) / ulp)
    is_nan = jnp.isnan(found)
    is_wrong = (is_nan != jnp.isnan(wanted)) | (jnp.signbit(found) != jnp.signbit(wanted)) & ~is_nan
    return jnp.where(is_wrong, jnp.inf, jnp.where(is_nan, 0.0, errors))


def measure(function: Function, tell: Callable[[str], None]) -> dict[str, Any]:
    """The entry of a function in `passes/elementary/bounds.json` for this jaxlib."""
    with jax.enable_x64(False):
        new, old, is_rewritten = _programs(function)
    start, ours, plain = perf_counter(), Error(), Error()
    with np.errstate(all="ignore"), jax.enable_x64(True):
        for number, (args, wanted) in enumerate(_cases(function)):
            ours.note(np.asarray(new(*args)), wanted, args)
            few = slice(number % SPARSE, None, SPARSE)
            found = np.asarray(old(*[arg[few] for arg in args]))
            plain.note(found, [each[few] for each in wanted], [arg[few] for arg in args])
            tell(f"{number + 1} chunks, {ours.ulps:.4f} ulps, XLA {plain.ulps:.4f}")
    return {
        "rule": function.rule if is_rewritten else None,
        "rewritten": asdict(ours),
        "xla": asdict(plain),
        "seconds": round(perf_counter() - start),
    }


def _programs(function: Function) -> tuple[Callable[..., Any], Callable[..., Any], bool]:
    """The compiled function with and without its rule, and whether the rule fired."""
    slots, few = (
        [jax.ShapeDtypeStruct((size,), np.float32)] * function.arguments
        for size in (CHUNK, CHUNK // SPARSE)
    )
    lowered = jxc.lower(function.program, *slots).opt("elementary")
    old = jax.jit(function.program).lower(*few).compile()
    return lowered.compile(), old, function.rule in lowered.report.hits


def _cases(function: Function) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Chunks of arguments, each with its correct results."""
    if function.arguments == 2:
        for args in _pairs(function.pairs):
            yield args, _wanted(function, args)
        return
    for number in range(2**31 // CHUNK):
        bits = np.arange(number * CHUNK, (number + 1) * CHUNK, dtype=np.uint32)
        x = bits.view(np.float32)
        wanted = _wanted(function, [x])
        yield [x], wanted
        mirrored = [function.parity * each for each in wanted]
        yield [-x], mirrored if function.parity else _wanted(function, [-x])


def _wanted(function: Function, args: list[np.ndarray]) -> list[np.ndarray]:
    """The result; for denormal arguments also that for zeros, as XLA:CPU may flush them."""
    exact = function.exact(*[arg.astype(np.float64) for arg in args])
    if not any((np.abs(arg) < TINY).any() for arg in args):
        return [exact]
    flushed = [np.where(np.abs(arg) < TINY, np.copysign(0, arg), arg) for arg in args]
    return [exact, function.exact(*[arg.astype(np.float64) for arg in flushed])]


def _pairs(count: int) -> Iterator[list[np.ndarray]]:
    """Special values with a selection of all f32, in both orders; then random pairs."""
    every = np.linspace(0, 2**32 - 1, CHUNK, dtype=np.uint32).view(np.float32)
    for special in [*SPECIAL, *-SPECIAL]:
        fixed = np.full_like(every, special)
        yield from ([every, fixed], [fixed, every])
    random = np.random.default_rng(0)
    for number in range(count // CHUNK):
        if number % 2:
            drawn = random.integers(0, 2**32, (2, CHUNK), dtype=np.uint32).view(np.float32)
        else:
            spread = 2.0 ** random.uniform(-8, 8, (2, CHUNK)) * random.choice([-1, 1], (2, CHUNK))
            drawn = np.abs(spread, out=spread, where=[[True], [False]]).astype(np.float32)
        yield list(drawn)
