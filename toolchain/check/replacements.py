"""Check that the alternatives of a replacement compute the same as its search.

The declaration gives the element types and the dimensions. Sizes are chosen for which an
alternative's `when` is true. Both functions, and their gradients, are traced for the CPU, with
kernels of Pallas in interpret mode, and compared on generated arguments by the contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod

from ..errors import JxcError
from ..patterns.declare import Alternative, ArrayInput, ConstantInput, Declaration, SearchedFunction
from ..patterns.trace import (
    Sizes,
    alternative_module,
    applies,
    constants_of,
    given_values,
    search_module,
)
from ..rewrite import approximates, exact
from .compare import Deadline
from .verify import Verdict, verify_modules

_EXTENTS = (3, 8, 16, 64, 128, 256, 512, 1024, 2048)
"""Sizes of a dimension that are tried until `when` is true, small ones first."""

_MOST_ELEMENTS = 1 << 24


@dataclass(frozen=True)
class ReplacementVerdict:
    """The comparison of one alternative with one search, for one set of sizes.

    Attributes:
        name: of the replacement.
        alternative: its name.
        search: the name of the function that is searched for.
        arguments: the types of the inputs, as text.
        gradient: whether the gradient was compared, not the results alone.
        verdict: the comparison; None if no sizes were found or it could not be traced.
        reason: why there is none.
    """

    name: str
    alternative: str
    search: str
    arguments: str
    gradient: bool
    verdict: Verdict | None
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether it ran and agreed."""
        return self.verdict is not None and self.verdict.agrees

    def __str__(self) -> str:
        what = "gradient of " if self.gradient else ""
        head = f"{self.name}: {what}{self.alternative} for {self.search}"
        if self.verdict is None:
            return f"{head}: {self.reason}"
        report = str(self.verdict.report).partition("\n")[0]
        return f"{head} ({self.arguments}): {report} [{self.verdict.draws} draws]"


def verify_replacement(
    declared: Declaration, *, seeds: int = 3, deadline: Deadline | None = None
) -> Iterator[ReplacementVerdict]:
    """Compare each alternative with each search, and their gradients.

    Args:
        declared: the replacement.
        seeds: how many times to draw arguments of each kind.
        deadline: when to stop.
    """
    deadline, choices = deadline or Deadline(), _dims(declared)
    for alternative in declared.alternatives:
        for search in declared.searches:
            found = False
            for sizes in _sizes(declared, search, alternative, choices):
                found = True
                for gradient in _gradients(declared, alternative):
                    yield _compared(declared, search, alternative, sizes, gradient, seeds, deadline)
            if not found:
                yield _none(declared, search, alternative, "no sizes for which `when` is true")


def _gradients(declared: Declaration, alternative: Alternative) -> tuple[bool, ...]:
    has_gradient = alternative.is_differentiable and any(
        isinstance(each, ArrayInput) and each.is_float for each in declared.inputs.values()
    )
    return (False, True) if has_gradient else (False,)


def _none(
    declared: Declaration, search: SearchedFunction, alternative: Alternative, reason: str
) -> ReplacementVerdict:
    return ReplacementVerdict(declared.name, alternative.name, search.name, "", False, None, reason)


def _compared(
    declared: Declaration,
    search: SearchedFunction,
    alternative: Alternative,
    sizes: Sizes,
    gradient: bool,
    seeds: int,
    deadline: Deadline,
) -> ReplacementVerdict:
    shown = ", ".join(_show(declared, name, sizes) for name in declared.inputs)
    made = _none(declared, search, alternative, "")
    made = replace(made, arguments=shown, gradient=gradient)
    try:
        before = search_module(declared, search, sizes, with_gradient=gradient)
        after = alternative_module(declared, search, alternative, sizes, with_gradient=gradient)
        contract = declared.contract
        if gradient and contract == exact:
            contract = approximates(ulps=4)  # the contract is on the results
        [verdict] = verify_modules(before, after, contract=contract, seeds=seeds, deadline=deadline)
    except JxcError as error:
        return replace(made, reason=str(error))
    return replace(made, verdict=verdict)


def _show(declared: Declaration, name: str, sizes: Sizes) -> str:
    given = declared.inputs[name]
    if isinstance(given, ConstantInput):
        return f"{name} {sizes.constants.get(name, '')}".strip()
    dims = ",".join(str(sizes.dims[d] if isinstance(d, str) else d) for d in given.dims)
    return f"{name} {sizes.dtypes[name]}[{dims}]"


def _sizes(
    declared: Declaration,
    search: SearchedFunction,
    alternative: Alternative,
    choices: Sequence[Mapping[str, int]],
) -> Iterator[Sizes]:
    """For each choice of element types, the first of `choices` for which it is used."""
    constants = {name: each.sample for name, each in constants_of(declared, search).items()}
    target = (alternative.targets or ("cpu",))[0]
    for dtypes in declared.dtype_choices():
        every = (Sizes(dims, dtypes, constants, target) for dims in choices)
        used = (each for each in every if _is_used(declared, search, alternative, each))
        yield from islice(used, 1)


def _dims(declared: Declaration) -> list[dict[str, int]]:
    """Sizes of the named dimensions, the smallest arrays first."""
    names = declared.dimension_names()
    fixed = declared.samples
    arrays = [each.dims for each in declared.inputs.values() if isinstance(each, ArrayInput)]

    def elements(dims: Mapping[str, int]) -> int:
        return max(
            (prod(dims[d] if isinstance(d, str) else d for d in each) for each in arrays),
            default=0,
        )

    choices = [(fixed[name],) if name in fixed else _EXTENTS for name in names]
    every = [dict(zip(names, sizes, strict=True)) for sizes in product(*choices)]
    small = [dims for dims in every if elements(dims) <= _MOST_ELEMENTS]
    return sorted(small, key=lambda dims: (elements(dims), -len(set(dims.values()))))


def _is_used(
    declared: Declaration, search: SearchedFunction, alternative: Alternative, sizes: Sizes
) -> bool:
    given = given_values(declared, search, sizes)
    try:
        return applies(alternative, sizes, given)
    except (AttributeError, TypeError, ValueError):
        return False
