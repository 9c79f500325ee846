"""Arrays for arguments that were given as shapes only: random, zeros, or from a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..errors import JxcError, UsageError
from ..files import MOST_DIGITS, read_arrays
from .inputs import MOST_BYTES, kind_and_seed, without_denormals

if TYPE_CHECKING:
    from ..backend.lowered import Lowered


def fill(tree: Any, how: str) -> Any:
    """The pytree with an array for each `jax.ShapeDtypeStruct`; arrays stay as they are.

    Args:
        tree: arguments, abstract or not.
        how: "random" or "random:SEED" (standard normal floats, integers from 0 to 9, fair
            booleans), "zeros", or "@file.npz" or "@file.npy" for arrays in the order of the leaves.
            The same seed, by default 0, gives the same arrays on every machine.

    Raises:
        UsageError: `how` is none of these, the file is not there, or its arrays do not fit.
    """
    leaves, structure = jax.tree.flatten(tree)
    abstract = [leaf for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct)]
    if how.startswith("@"):
        made = iter(_from_file(Path(how[1:]), abstract))
    else:
        kind, seed = kind_and_seed(how)
        if kind != "random" and how != "zeros":
            raise UsageError(f"--input {how}: expected random, random:SEED, zeros or @FILE.npz")
        if seed is None:
            digits = f"expected a seed of at most {MOST_DIGITS} digits"
            raise UsageError(f"--input {how:.80}: {digits}")
        generator = np.random.default_rng(seed)
        made = (_array(leaf, kind, generator) for leaf in abstract)
    try:
        filled = [next(made) if isinstance(x, jax.ShapeDtypeStruct) else x for x in leaves]
    except MemoryError as error:
        raise JxcError(f"the arguments do not fit into memory: {error}") from None
    return jax.tree.unflatten(structure, filled)


def operands_of(
    lowered: Lowered, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[np.ndarray] | None:
    """The arrays that the module takes for these arguments of its function.

    Leaves without a value get random ones. Denormal numbers become zeros, since XLA:CPU flushes
    them in some ops.

    Returns:
        None where no leaf has a value, a dimension is symbolic, some arguments are static, or the
        arrays are too large for this machine.
    """
    expected, structure = jax.tree.flatten(lowered.jax_lowered.args_info)
    leaves, found = jax.tree.flatten((args, kwargs))
    if found != structure or not any(map(_has_value, leaves)):
        return None
    used = lowered.used_arguments
    sizes = [size for i in used for size in expected[i].shape]
    if not all(isinstance(size, int) for size in sizes):
        return None
    if sum(8 * math.prod(expected[i].shape) for i in used) > MOST_BYTES:
        return None
    types = {i: jax.ShapeDtypeStruct(expected[i].shape, expected[i].dtype) for i in used}
    filled = fill([leaves[i] if _has_value(leaves[i]) else types[i] for i in used], "random")
    return [_operand(leaf, types[i].dtype) for i, leaf in zip(used, filled, strict=True)]


def _has_value(leaf: Any) -> bool:
    if isinstance(leaf, jax.Array):
        is_reference = isinstance(leaf, getattr(jax, "Ref", ()))  # new in jax 0.8
        return not is_reference and not leaf.is_deleted() and leaf.is_fully_addressable
    return isinstance(leaf, (np.ndarray, np.generic, bool, int, float, complex))


def _operand(leaf: Any, dtype: Any) -> np.ndarray:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(leaf))
    return without_denormals(np.asarray(leaf).astype(dtype))


def _array(like: jax.ShapeDtypeStruct, how: str, generator: np.random.Generator) -> Any:
    if jax.dtypes.issubdtype(like.dtype, jax.dtypes.prng_key):
        keys = jax.random.key(int(generator.integers(2**31)))
        return jax.random.split(keys, like.shape) if like.shape else keys
    dtype = np.dtype(like.dtype)
    if how == "zeros":
        return np.zeros(like.shape, dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, like.shape).astype(dtype)
    if dtype.kind in "iu" or "int" in dtype.name:
        high = 10 if dtype.itemsize > 1 or dtype.name in ("int8", "uint8") else 2
        return generator.integers(0, high, like.shape).astype(dtype)
    values = generator.standard_normal(like.shape)
    if dtype.kind == "c":
        values = values + 1j * generator.standard_normal(like.shape)
    return values.astype(dtype)


def _from_file(path: Path, wanted: list[jax.ShapeDtypeStruct]) -> list[np.ndarray]:
    try:
        loaded = read_arrays(path)
    except UsageError as error:
        raise UsageError(f"--input @{error}") from error
    arrays = list(loaded.values()) if isinstance(loaded, dict) else [loaded]
    found = [(a.shape, a.dtype.name) for a in arrays]
    expected = [(tuple(w.shape), np.dtype(w.dtype).name) for w in wanted]
    if found != expected:
        raise UsageError(
            f"--input @{path}: expected arrays {_spell(expected)}, found {_spell(found)}"
        )
    return arrays


def _spell(arrays: list[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{name}[{','.join(map(str, shape))}]" for shape, name in arrays) or "none"
