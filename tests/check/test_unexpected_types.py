"""Every rule on element types and sizes that it was not written for: declined, or correct.

Each lit case is fed with its types exchanged: to the rule that it is about, whose result is
compared, and to all rules together, none of which may raise or make an op that is not valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from jaxlib.mlir import ir

from jxc.ir import ModuleSyntaxError, clone_module, make_context, read_module, walk
from jxc.rewrite import apply_rules, exact
from scripts.variants import NotValid, SeedProgram, Variation, build_variant, context_for, try_rule

from ..lit_seeds import Seed, all_rules, all_seeds
from .tokens import with_token

DYNAMIC = ir.ShapedType.get_dynamic_size()
ELEMENTS = ("i1", "ui8", "f8E4M3FN", "f4E2M1FN", "complex<f32>")
_SIZES_ALONE = 2  # the number of sizes of a program that are replaced one at a time


def _elements(program: SeedProgram) -> list[str]:
    kinds = [kind for kind in program.types if isinstance(kind, ir.RankedTensorType)]
    names = list(dict.fromkeys(str(kind.element_type) for kind in kinds))
    return [name for name in names if name != "i1" or len(names) == 1]


def _extents(program: SeedProgram) -> list[int]:
    kinds = [kind for kind in program.types if isinstance(kind, ir.RankedTensorType)]
    return sorted({n for kind in kinds for n in kind.shape if n > 1})


def _with(program: SeedProgram, **changes: dict) -> ir.Module:
    return build_variant(program, Variation(**changes))


def _of_element(element: str) -> Callable[[SeedProgram], Iterator[ir.Module]]:
    """Replace the element type of the first value: the other types may be indices."""

    def feed(program: SeedProgram) -> Iterator[ir.Module]:
        with suppress(NotValid):
            yield _with(program, elements=dict.fromkeys(_elements(program)[:1], element))

    return feed


def _of_extent(extent: int) -> Callable[[SeedProgram], Iterator[ir.Module]]:
    """Replace all sizes, then each of the largest alone."""

    def feed(program: SeedProgram) -> Iterator[ir.Module]:
        found = _extents(program)
        for chosen in [found, *([size] for size in found[-_SIZES_ALONE:] if len(found) > 1)]:
            with suppress(NotValid):
                yield _with(program, extents=dict.fromkeys(chosen, extent))

    return feed


def _of_token(program: SeedProgram) -> Iterator[ir.Module]:
    with suppress(ir.MLIRError):  # functions whose arguments have shardings take no other argument
        found = with_token(program.module)
        if found is not None:
            yield found


FEEDS = {
    **{element: _of_element(element) for element in ELEMENTS},
    "zero extents": _of_extent(0),
    "dynamic extents": _of_extent(DYNAMIC),
    "tokens": _of_token,
}


@pytest.mark.parametrize("name", FEEDS)
def test_rules_decline_unexpected_types_or_keep_results(name: str) -> None:
    tally: Counter[str] = Counter()
    wrong = []
    for seed in all_seeds():
        for program in FEEDS[name](seed.program):
            tally["fed"] += 1
            wrong += [f"{what}\n{program}" for what in _complaints(seed, program, tally)]
    assert not wrong, "\n".join(wrong)
    assert tally["fed"], "no program could be made"
    assert tally["declined"], "nothing was declined"


def _complaints(seed: Seed, program: ir.Module, tally: Counter[str]) -> Iterator[str]:
    try:
        after = clone_module(program)
        names = {op.operation.name for op in walk(program.operation)}
        rules = [rule for rule in all_rules().values() if names & set(rule.roots)]
        apply_rules(after.operation, rules, seed.context)
        after.operation.verify()
        if seed.rule and all_rules()[seed.rule].contract == exact:  # others are slow to run
            yield from _difference(seed, program, tally)
    except Exception as error:
        what = f"{type(error).__name__}: {error} {' '.join(getattr(error, '__notes__', ()))}"
        yield f"@{seed.name}: {what}"


def _difference(seed: Seed, program: ir.Module, tally: Counter[str]) -> Iterator[str]:
    rule = all_rules()[seed.rule]
    trial = try_rule(rule, program, context_for(rule, seed.context), draws=2)
    tally.update(["checked" if trial.checked else "fired" if trial.fired else "declined"])
    if trial.difference:
        yield f"{rule.name} on @{seed.name}: {trial.difference}"


def test_quantized_types_are_rejected_by_the_parser() -> None:
    """jaxlib has no quant dialect. If this fails, add quantized types to `FEEDS`."""
    kind = "tensor<4x!quant.uniform<i8:f32, 2.0:1>>"
    text = f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}"
    with pytest.raises(ModuleSyntaxError, match="unregistered dialect"):
        read_module(text, make_context())
