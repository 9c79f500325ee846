"""What the user declares of a replacement: inputs, functions to search for, alternatives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

from ..ir.dtypes import canonical_dtype, known_dtypes
from ..rewrite import Contract, kebab


@dataclass(frozen=True)
class ArrayInput:
    """An argument that is an array.

    Attributes:
        dtypes: the short names of its possible element types.
        dims: the name or the size of each dimension.
    """

    dtypes: tuple[str, ...]
    dims: tuple[str | int, ...]

    @property
    def is_float(self) -> bool:
        return all(each.startswith(("f", "bf")) for each in self.dtypes)


@dataclass(frozen=True)
class ConstantInput:
    """An argument that is a number in the program: functions get it as a Python number.

    Attributes:
        kind: `float` or `int`.
        sample: a number for the first search, exact in every float type, that functions are
            unlikely to contain.
    """

    kind: type
    sample: float | int = 0

    @staticmethod
    def numbered(kind: type, number: int) -> ConstantInput:
        """The constant input with a sample of its own."""
        numerator = 93 + 2 * number
        return ConstantInput(kind, numerator if kind is int else numerator / 128)


Input = ArrayInput | ConstantInput


@dataclass(frozen=True)
class SearchedFunction:
    """A function whose graph is searched for.

    Attributes:
        function: takes the inputs by position, those in `given` left out, and then `constants`.
        given: the values of the inputs that it does not have. A function gets the constants of a
            match as attributes, and returns the value.
        constants: the constants that only this function takes, by name.
    """

    function: Callable[..., Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, ConstantInput] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return kebab(getattr(self.function, "__name__", type(self.function).__name__))

    def given_for(self, constants: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the inputs in `given`, computed from the constants of a match."""
        match = SimpleNamespace(**constants)
        return {
            name: value(match) if callable(value) else value for name, value in self.given.items()
        }


@dataclass(frozen=True)
class Alternative:
    """A function that computes the same.

    Attributes:
        function: takes all inputs by position.
        when: whether it pays or is possible, by the sizes and types of a match; None for always.
        targets: the targets for which it is used; all when None.
        is_differentiable: whether `jax.vjp` of it exists.
    """

    function: Callable[..., Any]
    when: Callable[[Any], bool] | None
    targets: tuple[str, ...] | None
    is_differentiable: bool

    @property
    def name(self) -> str:
        return kebab(getattr(self.function, "__name__", type(self.function).__name__))


class Declaration:
    """A function that is searched for in programs, and the functions that can take its place.

    Attributes:
        name: in kebab-case, as on the command line.
        contract: what the replacement may change.
        inputs: the declared arguments by name.
        searches: the functions that are searched for, in order.
        alternatives: the functions that replace them, in order of preference.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        contract: Contract,
        inputs: Mapping[str, Input],
        samples: Mapping[str, int],
    ) -> None:
        self.function = function
        self.name = kebab(function.__name__)
        self.contract = contract
        self.inputs = dict(inputs)
        self.samples = dict(samples)
        self.searches: list[SearchedFunction] = [SearchedFunction(function)]
        self.alternatives: list[Alternative] = []
        self.patterns: dict[Any, Any] = {}
        """What was traced, by search, sizes and settings: see `trace.pattern_of`."""

    @property
    def doc(self) -> str:
        """What it searches for and what replaces it: the docstring of the function."""
        return inspect.getdoc(self.function) or f"Replace what `{self.function.__name__}` computes."

    @property
    def parts(self) -> tuple[Any, ...]:
        """The functions and texts that define it, for the keys of caches."""
        searches = tuple(
            (each.function, dict(each.given), repr(each.constants)) for each in self.searches
        )
        others = tuple(
            (each.function, each.when, each.targets, each.is_differentiable)
            for each in self.alternatives
        )
        return repr(self.inputs), repr(self.samples), searches, others

    def dtype_choices(self) -> Iterator[dict[str, str]]:
        """Each choice of an element type for each array input; equal lists get the same type."""
        arrays = {n: each for n, each in self.inputs.items() if isinstance(each, ArrayInput)}
        lists = list(dict.fromkeys(each.dtypes for each in arrays.values()))
        for choice in product(*lists):
            by_list = dict(zip(lists, choice, strict=True))
            yield {name: by_list[each.dtypes] for name, each in arrays.items()}

    def dimension_names(self) -> list[str]:
        """The names of dimensions, in order of first use."""
        dims = [
            dim
            for each in self.inputs.values()
            if isinstance(each, ArrayInput)
            for dim in each.dims
            if isinstance(dim, str)
        ]
        return list(dict.fromkeys(dims))

    def sample_sizes(self) -> dict[str, int]:
        """A size for each name, all different and multiples of 8, for the first search."""
        names = self.dimension_names()
        return {
            name: self.samples.get(name, 8 * prime)
            for name, prime in zip(names, _primes(len(names)), strict=True)
        }


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 3
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 2
    return found


_ARRAY = re.compile(r"\s*([\w|\s]+?)\s*\[([^\[\]]*)\]\s*")


def parse_input(name: str, text: str | type) -> Input:
    """The input that a declaration such as "f32|bf16[b,s,8]" means.

    Raises:
        ValueError: it is malformed.
    """
    if text is float or text is int:
        return ConstantInput(text)
    found = _ARRAY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(
            f"input {name!r} is {text!r}: expected an array such as 'f32|bf16[b,s,8]', float or int"
        )
    dtypes = []
    for each in found[1].split("|"):
        if (dtype := canonical_dtype(each.strip())) is None:
            raise ValueError(
                f"input {name!r} is {text!r}: no element type {each.strip()!r}; the element types "
                f"are {', '.join(known_dtypes()[:16])}"
            )
        dtypes.append(dtype)
    dims: list[str | int] = []
    for dim in (each.strip() for each in found[2].split(",") if found[2].strip()):
        if not dim.isidentifier() and not dim.isdecimal():
            raise ValueError(f"input {name!r} is {text!r}: {dim!r} is not a name or a size")
        dims.append(int(dim) if dim.isdecimal() else dim)
    return ArrayInput(tuple(dtypes), tuple(dims))


def parse_inputs(texts: Mapping[str, str | type]) -> dict[str, Input]:
    """The inputs of a declaration by name; each constant gets a sample of its own.

    Raises:
        ValueError: one is malformed.
    """
    parsed = {name: parse_input(name, text) for name, text in texts.items()}
    return {
        name: ConstantInput.numbered(each.kind, number) if isinstance(each, ConstantInput) else each
        for number, (name, each) in enumerate(parsed.items())
    }


def match_of(values: Mapping[str, Any]) -> SimpleNamespace:
    """What `when` receives: the values as attributes."""
    return SimpleNamespace(**values)
