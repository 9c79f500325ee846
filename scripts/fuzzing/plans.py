"""Random training steps under plans as `jxc fit` makes them: results must be those of plain JAX.

The plans are drawn from all choices of the search, those for TPU and GPU too: values computed again
in straight-line code and in loops, loops in segments, and parts of the batch. All run on the CPU.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jxc
from jxc.backend.targets import find_target
from jxc.check.numbering import is_same_by_numbering
from jxc.tools.fit.choices import Choices, passes_of
from jxc.tools.fit.frontier import FitChoice
from jxc.tools.fit.measures import bare_measures
from jxc.tools.fit.plan import FitPlan

from .training import LAYERS, OF_EXAMPLES, random_step, steps_in_a_loop

_TARGETS = ("cpu", "tpu:v5e", "gpu:h100")
_PLANS = 2  # of each program
_BATCH = 32
_TOLERANCE = 3e-4  # of the largest value of a result: sums in another order
_NUDGE = 1e-6  # of the inputs; a step that amplifies it amplifies rounding as well
_AMPLIFIED = 30


@dataclass
class Tally:
    """What was run: programs, plans by what they do, plans proved, and what was found."""

    programs: int = 0
    plans: int = 0
    proved: int = 0
    unstable: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    finds: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        head = (
            f"{self.programs} training steps, {self.plans} plans ({kinds}), {self.proved} proved "
            f"by value numbering, {self.unstable} of steps that amplify rounding"
        )
        return "\n".join([head, *self.finds, f"found: {len(self.finds)}"])


def run(seeds: Iterable[int], is_over: Callable[[], bool] = lambda: False) -> Tally:
    """Compare the training steps of some seeds with and without plans."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            if is_over():
                break
            tally.programs += 1
            try:
                _compare(seed, Path(folder) / "plan.toml", tally)
            except Exception as error:
                text = " ".join(str(error).split())[:300]
                tally.finds.append(f"FOUND seed {seed}: {type(error).__name__}: {text}")
            jax.clear_caches()
    return tally


def training_step(seed: int) -> tuple[Callable[..., Any], Any]:
    """The function and the arguments of a seed; every second one can be split along its batch."""
    step, args = random_step(seed, OF_EXAMPLES if seed % 2 else LAYERS, _BATCH)
    return steps_in_a_loop(step, args) if seed % 8 == 0 else (step, args)


def _compare(seed: int, file: Path, tally: Tally) -> None:
    step, args = training_step(seed)
    lowered, target = jxc.lower(step, *args), _TARGETS[seed % len(_TARGETS)]
    found = Choices(lowered, find_target(target))
    found.split(found.argument_bytes + found.all[0].peak, lambda _: None)
    drawn = np.random.default_rng(seed).permutation(len(found.all) - 1)[:_PLANS]
    expected = jax.tree.leaves(jax.jit(step)(*args)) if len(drawn) else []
    for choice in (found.without_useless(found.all[1 + index]) for index in drawn):
        FitPlan(passes_of(choice, ""), tuple(bare_measures(choice))).save(file)
        after = lowered.opt(str(file), target=target)
        tally.plans += 1
        tally.kinds.update(_kinds(choice))
        if choice.parts == 1 and is_same_by_numbering(lowered.module, after.module):
            tally.proved += 1
        apart = _apart(jax.tree.leaves(after.compile()(*args)), expected)
        if apart <= _TOLERANCE:
            continue
        if apart <= _AMPLIFIED * _apart(jax.tree.leaves(jax.jit(step)(*_nudged(args))), expected):
            tally.unstable += 1
            continue
        plan = file.read_text()
        tally.finds.append(f"FOUND seed {seed}, {target}: results are {apart:.1g} apart\n{plan}")


def _kinds(choice: FitChoice) -> list[str]:
    found = {
        "in parts": choice.parts > 1,
        "in straight-line code": choice.straight,
        "in loops": choice.loops.selectors,
        "in segments": any(each.segments for each in choice.loops.selectors),
    }
    return [kind for kind, applies in found.items() if applies]


def _apart(found: list[Any], expected: list[Any]) -> float:
    """The largest difference of a result, relative to its largest value.

    NaNs and infinities, to which steps in a loop may lead, have to be at the same places.
    """

    def of(one: Any, other: Any) -> float:
        finite = np.isfinite(other)
        if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
            return float("inf")
        one, other = one[finite], other[finite]
        largest = max(np.max(np.abs(other), initial=0.0), 1e-6)
        return float(np.max(np.abs(one - other), initial=0.0) / largest)

    return max(of(np.asarray(a), np.asarray(b)) for a, b in zip(found, expected, strict=True))


def _nudged(args: Any) -> Any:
    """The arguments with slightly larger parameters and examples."""
    *inputs, key = args
    return *jax.tree.map(lambda x: x * np.float32(1 + _NUDGE), inputs), key
