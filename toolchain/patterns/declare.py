"""Replacements: a rewrite given as two JAX functions, what is searched for and what replaces it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from types import SimpleNamespace
from typing import Any

from ..ir.dtypes import canonical_dtype, known_dtypes
from ..rewrite import TARGETS, Contract, Pass, PassLike, kebab


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
    """An argument that is a number in the program: functions get it as a Python number."""

    kind: type

    @property
    def sample(self) -> float | int:
        """A number that a function is unlikely to use otherwise, exact in every float type."""
        return 93 if self.kind is int else 0.7265625


Input = ArrayInput | ConstantInput


@dataclass(frozen=True)
class Search:
    """A function whose graph is searched for.

    Attributes:
        function: takes the inputs by position, those in `given` left out.
        given: the values of the inputs that it does not have.
    """

    function: Callable[..., Any]
    given: Mapping[str, Any] = field(default_factory=dict)


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


class Replacement(PassLike):
    """A function that is searched for in programs, and the functions that can take its place.

    Made by `@jxc.replacement`. It can stand wherever a pass or a rule can.

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
        self.searches: list[Search] = [Search(function)]
        self.alternatives: list[Alternative] = []

    @property
    def doc(self) -> str:
        """What it searches for and what replaces it: the docstring of the function."""
        return inspect.getdoc(self.function) or f"Replace what `{self.function.__name__}` computes."

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<jxc replacement {self.name}, {self.contract}: {self.doc.partition(chr(10))[0]}>"

    def search(self, **given: Any) -> Callable[[Callable[..., Any]], Replacement]:
        """Add another way in which programs write the same.

            @attention.search(mask=None, scale=1.0)
            def attention_without_mask_and_scale(q, k, v): ...

        Args:
            given: the inputs that this function does not have, with the values that the
                replacement gets for them.

        Raises:
            TypeError: an input is not declared, or the function has other parameters.
        """
        if unknown := sorted(given.keys() - self.inputs.keys()):
            raise TypeError(f"{self.name} has no input {unknown[0]!r}: {', '.join(self.inputs)}")

        def decorate(function: Callable[..., Any]) -> Replacement:
            left = [name for name in self.inputs if name not in given]
            _check_parameters(function, left)
            self.searches.append(Search(function, given))
            return self

        return decorate

    def by(
        self,
        function: Callable[..., Any] | None = None,
        *,
        when: Callable[[Any], bool] | None = None,
        targets: str | Sequence[str] | None = None,
        differentiable: bool = True,
    ) -> Any:
        """Add a function that computes the same, with the inputs by position.

        It is traced and lowered for the target, which need not be present, when a match is found.
        Of several, the first that applies is used.

        Args:
            function: the function; it may use whatever JAX lowers for the target, such as a
                Pallas kernel or a call through `jax.ffi`.
            when: a function of a match, true where the replacement pays or is possible. A match
                has the declared dimensions and constants as attributes (`m.s`, `m.scale`), the
                inputs as `jax.ShapeDtypeStruct`s (`m.q.dtype`), and `m.target`.
            targets: "cpu", "gpu" or "tpu", several separated by commas, or a sequence; all when
                None.
            differentiable: whether `jax.vjp` of the function exists. If so, a program's forward
                and backward computation are replaced together; the backward one is that of
                `jax.custom_vjp` if the function has it.

        Returns:
            The replacement, so that its name stays bound to it; a decorator without `function`.

        Raises:
            TypeError: the function has other parameters than the search.
            ValueError: a target is unknown.
        """
        if function is None:
            return lambda each: self.by(
                each, when=when, targets=targets, differentiable=differentiable
            )
        names = targets.split(",") if isinstance(targets, str) else targets
        chosen = None if names is None else tuple(name.strip() for name in names)
        if unknown := sorted(set(chosen or ()) - set(TARGETS)):
            raise ValueError(f"target {unknown[0]!r}: expected {', '.join(TARGETS)}")
        _check_parameters(function, list(self.inputs))
        self.alternatives.append(Alternative(function, when, chosen, differentiable))
        return self

    def as_pass(self) -> Pass:
        """The pass of this replacement alone, with the options of passes made of rules."""
        return self._pass

    @cached_property
    def _pass(self) -> Pass:
        from .apply import replacement_pass

        return replacement_pass(self.name, self.doc, [self])

    def dtype_choices(self) -> Iterator[dict[str, str]]:
        """The element type of each array input, for each choice: equal lists choose together."""
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


def replacement(
    contract: Contract, /, *, samples: Mapping[str, int] | None = None, **inputs: str | type
) -> Callable[[Callable[..., Any]], Replacement]:
    """Make a `Replacement` of a function: the program that is searched for, written in JAX.

        @jxc.replacement(
            jxc.reassociates,
            q="f32|bf16[b,h,s,d]", k="f32|bf16[b,h,t,d]", v="f32|bf16[b,h,t,d]", scale=float,
        )
        def attention(q, k, v, scale):
            \"\"\"softmax(q k^T scale) v -> a fused kernel.\"\"\"
            return jax.nn.softmax(q @ k.swapaxes(-1, -2) * scale) @ v

        @attention.by(when=lambda m: m.s >= 1024, targets="gpu,tpu")
        def flash(q, k, v, scale):
            return my_kernel(q, k, v, scale)

    Both functions are traced; the graph of the first is searched for in programs after `inline` and
    `simplify`, in any order of dimensions, under any `jax.vmap`, with commutative operands in any
    order. Where a program also computes the gradient, both are replaced (see `Replacement.by`).

    Args:
        contract: `jxc.exact`, `jxc.reassociates` or `jxc.approximates(ulps=n)`: how far a
            replacement's results may be from the search's.
        samples: sizes of dimensions for the first search, if the function cannot be traced with
            sizes that are chosen for it.
        inputs: for each parameter, an array as "f32|bf16[b,h,s,d]" (element types, and a name or a
            size for each dimension; "f32[]" for a scalar), or `float` or `int` for a number that
            must be a constant in the program. Inputs with equal lists of element types have the
            same element type. Dimensions along which the function only maps may be absent in the
            program, or be several.

    Raises:
        TypeError: the inputs are not the parameters of the function.
        ValueError: an input is malformed.
    """
    if not isinstance(contract, Contract):
        raise TypeError(
            "write @replacement(jxc.reassociates, q='f32[s,d]', ...): the first argument is a "
            f"contract, got {contract!r}"
        )
    parsed = {name: parse_input(name, text) for name, text in inputs.items()}

    def decorate(function: Callable[..., Any]) -> Replacement:
        _check_parameters(function, list(inputs))
        return Replacement(function, contract, parsed, samples or {})

    return decorate


_ARRAY = re.compile(r"\s*([\w|\s]+?)\s*\[([^\[\]]*)\]\s*")


def parse_input(name: str, text: str | type) -> Input:
    """The input that a declaration such as "f32|bf16[b,s,8]" means.

    Raises:
        ValueError: it is malformed.
    """
    if text is float or text is int:
        return ConstantInput(text)  # type: ignore[arg-type]
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


def _check_parameters(function: Callable[..., Any], expected: Sequence[str]) -> None:
    parameters = inspect.signature(function).parameters.values()
    names = [
        each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, _EITHER)
    ]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if names != list(expected) and not takes_any:
        raise TypeError(
            f"{getattr(function, '__name__', function)} has the parameters {', '.join(names)}; "
            f"expected {', '.join(expected)}, in this order"
        )


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def match_of(values: Mapping[str, Any]) -> SimpleNamespace:
    """What `when` receives: the values as attributes."""
    return SimpleNamespace(**values)
