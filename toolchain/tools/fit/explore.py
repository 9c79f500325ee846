"""The search over the shardings of arguments, by predictions.

A state decides on some units of arguments; Shardy's propagation decides on the rest, as XLA would.
From each of several starts, one unit at a time gets the sharding with the best score, until no
change of a single unit is better. Data and tensor parallelism, sharded parameters and their
combinations are states like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from ...cost.network import Fabric
from ...ir.shardings import Spec, format_mesh
from .partition import Candidate, Prediction, Predictor
from .shardings import (
    Group,
    State,
    Unit,
    is_divisible,
    is_uniform,
    moves_of,
    rules_of_state,
    rules_text,
    specs_by_group,
    split_largest,
)

_EXCESS = 20.0
"""How many times longer a program that needs twice the budget is taken to run."""

_GAIN = 0.998
"""The score of a change, relative to that before, from which it is made."""

_SWEEPS = 4


@dataclass(frozen=True)
class Sharded:
    """Shardings of all arguments and results of a program, and what they are predicted to cost.

    Attributes:
        mesh: the sizes of the axes.
        specs: of each group.
        state: the decisions that they come from.
        prediction: for one device.
    """

    mesh: Mapping[str, int]
    specs: Mapping[Group, Spec]
    state: State
    prediction: Prediction

    @property
    def rules(self) -> str:
        """The file for the pass `annotate-sharding`."""
        return rules_text(self.specs, self.mesh)


@dataclass
class Correction:
    """What the compiler's numbers are, relative to the predicted ones.

    Attributes:
        seconds: of the computation.
        network: of the time that devices wait for collectives.
        memory: of the bytes.
    """

    seconds: float = 1.0
    network: float = 1.0
    memory: float = 1.0

    def time(self, found: Prediction) -> float:
        """The expected time of a step."""
        return self.seconds * found.seconds + self.network * found.network_seconds

    def needed(self, found: Prediction) -> float:
        """The expected bytes of one device."""
        return self.memory * found.needed


@dataclass
class Explorer:
    """The candidates that were predicted.

    Attributes:
        groups: of the program.
        units: what is decided.
        predictor: predicts candidates.
        folder: for files of rules.
        budget: bytes of one device.
        deadline: no further candidate is predicted after it, by `perf_counter`.
        tell: called with what is being done.
        correction: of the predictions.
    """

    groups: Sequence[Group]
    units: Sequence[Unit]
    predictor: Predictor
    folder: Path
    budget: int
    deadline: float
    tell: Callable[[str], None]
    correction: Correction = field(default_factory=Correction)

    def __post_init__(self) -> None:
        self._known: dict[str, Sharded | None] = {}
        self._count = 0

    @property
    def found(self) -> list[Sharded]:
        """The candidates with a prediction, those that the score prefers first."""
        distinct = {each.rules: each for each in self._known.values() if each}
        return sorted(distinct.values(), key=self.score)

    def score(self, found: Sharded) -> float:
        """The expected time; larger for a program that is not expected to fit."""
        excess = max(self.correction.needed(found.prediction) / self.budget - 1, 0.0)
        return self.correction.time(found.prediction) * (1 + _EXCESS * excess)

    def explore(
        self, mesh: Mapping[str, int], fabric: Fabric | None, states: Sequence[State] = ()
    ) -> None:
        """Search over one mesh, from states of other meshes or else from several starts."""
        given = [self._fitting(state, mesh) for state in states]
        found = self._predict(given or list(self._starts(mesh)), mesh, fabric)
        for start in sorted(found, key=self.score):
            self._descend(start, mesh, fabric)

    def _fitting(self, state: State, mesh: Mapping[str, int]) -> State:
        return {u: spec for u, spec in state.items() if is_divisible(spec, u.shape, mesh)}

    def _starts(self, mesh: Mapping[str, int]) -> Iterator[State]:
        axes, batch = tuple(mesh), [unit for unit in self.units if not unit.is_updated]
        yield {}
        if len(batch) == len(self.units):
            batch = []
        for count in range(1, len(axes) + 1):
            split = {unit: (axes[:count],) for unit in batch}
            split = {u: spec for u, spec in split.items() if is_divisible(spec, u.shape, mesh)}
            if split:
                yield split
            others = [unit for unit in self.units if unit not in split]
            yield {**split, **{unit: split_largest(unit, axes[:count], mesh) for unit in others}}

    def _descend(self, start: Sharded, mesh: Mapping[str, int], fabric: Fabric | None) -> None:
        """Change one unit at a time, as long as that helps."""
        best = start
        for _ in range(_SWEEPS):
            before = best
            for unit in self.units:
                if perf_counter() > self.deadline:
                    return
                changes = moves_of(unit, best.specs[unit.groups[0]], mesh)
                states: list[State] = [{**best.state, unit: spec} for spec in changes]
                if unit in best.state:
                    states.append({u: spec for u, spec in best.state.items() if u is not unit})
                found = min(self._predict(states, mesh, fabric), key=self.score, default=best)
                if self.score(found) < _GAIN * self.score(best):
                    best = found
            if best is before:
                return

    def _predict(
        self, states: Sequence[State], mesh: Mapping[str, int], fabric: Fabric | None
    ) -> list[Sharded]:
        """The candidates of states, without those that fail."""
        texts = [rules_of_state(state, mesh) for state in states]
        self._ask(dict(zip(texts, states, strict=True)), mesh, fabric)
        return [found for text in texts if (found := self._known[text])]

    def _ask(
        self,
        states: Mapping[str, State],
        mesh: Mapping[str, int],
        fabric: Fabric | None,
        *,
        is_closed: bool = False,
    ) -> None:
        """Predict rules that are new. Where layers got different shardings, all get the usual."""
        new = {text: state for text, state in states.items() if text not in self._known}
        self.tell(f"{len(self._known)} shardings considered, {format_mesh(mesh)}")
        answers = self.predictor.predict(self._candidate(text, mesh, fabric) for text in new)
        mixed: dict[str, str] = {}
        for (text, state), found in zip(new.items(), answers, strict=True):
            self._known[text] = None
            if found is None:
                continue
            specs = specs_by_group(self.groups, found.specs)
            closed = rules_text(specs, mesh)
            if is_closed or is_uniform(self.groups, found.specs):
                self._known[text] = Sharded(mesh, specs, state, found)
                self._known.setdefault(closed, self._known[text])
            else:
                mixed[text] = closed
        if mixed:
            closed_states = {closed: states[text] for text, closed in mixed.items()}
            self._ask(closed_states, mesh, fabric, is_closed=True)
            self._known |= {text: self._known[closed] for text, closed in mixed.items()}

    def _candidate(self, text: str, mesh: Mapping[str, int], fabric: Fabric | None) -> Candidate:
        self._count += 1
        path = self.folder / f"{self._count}.rules"
        path.write_text(text)
        return Candidate(str(path), format_mesh(mesh), fabric)
