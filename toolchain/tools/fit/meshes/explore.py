"""The search over the shardings of arguments, by predictions.

A state decides on some units of arguments; Shardy's propagation decides on the rest, as XLA would.
From each of several starts, one unit at a time gets the sharding with the best score, until no
change of a single unit is better. Data and tensor parallelism, sharded parameters and their
combinations are states like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter

from ....cost.network import Fabric
from ....ir.shardings import Spec, format_mesh
from .partition import Prediction, Predictor, ShardingCandidate
from .shardings import (
    ShardingGroup,
    State,
    Unit,
    is_uniform,
    rules_of_state,
    rules_text,
    specs_by_group,
)

_EXCESS = 20.0
"""How many times longer a program that needs twice the budget is taken to run."""

_GAIN = 0.998
"""The score of a change, relative to that before, from which it is made."""

_SWEEPS = 4


@dataclass(frozen=True)
class Place:
    """A mesh on the hardware.

    Attributes:
        mesh: the sizes of the axes.
        fabric: the network between its devices, in its order; None if that is not known.
    """

    mesh: Mapping[str, int] = field(hash=False)
    fabric: Fabric | None = field(default=None, hash=False, repr=False)

    def __str__(self) -> str:
        return format_mesh(self.mesh)


@dataclass(frozen=True)
class Sharded:
    """Shardings of all arguments and results of a program, and what they are predicted to cost.

    Attributes:
        place: the mesh.
        specs: of each group.
        state: the decisions that they come from.
        prediction: for one device.
    """

    place: Place
    specs: Mapping[ShardingGroup, Spec]
    state: State
    prediction: Prediction

    @property
    def mesh(self) -> Mapping[str, int]:
        """The sizes of the axes."""
        return self.place.mesh

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

    groups: Sequence[ShardingGroup]
    units: Sequence[Unit]
    predictor: Predictor
    folder: Path
    budget: int
    deadline: float
    tell: Callable[[str], None]
    correction: Correction = field(default_factory=Correction)

    def __post_init__(self) -> None:
        self.starts: list[Sharded] = []
        self._known: dict[str, Sharded | None] = {}
        self._numbers = count()

    @property
    def found(self) -> list[Sharded]:
        """The candidates with a prediction, those that the score prefers first."""
        distinct = {each.rules: each for each in self._known.values() if each}
        return sorted(distinct.values(), key=self.score)

    def score(self, found: Sharded) -> float:
        """The expected time; larger for a program that is not expected to fit."""
        excess = max(self.needed(found) / self.budget - 1, 0.0)
        return self.time(found) * (1 + _EXCESS * excess)

    def time(self, found: Sharded) -> float:
        """The expected time, whether it fits or not."""
        return self.correction.time(found.prediction)

    def needed(self, found: Sharded) -> float:
        """The expected bytes of one device."""
        return self.correction.needed(found.prediction)

    def explore(self, places: Sequence[Place]) -> None:
        """Search over meshes: from the best start of each, then from others.

        What is found on one mesh is a start on those that follow.
        """
        starts = [each for place in places for each in self._predict(self._starts(place), place)]
        self.starts = list(starts)
        done: Counter[Place] = Counter()
        while starts and perf_counter() < self.deadline:
            start = min(starts, key=lambda each: (done[each.place], self.score(each)))
            starts.remove(start)
            found = self._descend(start)
            done[start.place] += 1
            for place in places:
                if not done[place]:
                    pairs = found.state.items()
                    state = {u: spec for u, spec in pairs if u.accepts(spec, place.mesh)}
                    starts += self._predict([state], place)

    def _starts(self, place: Place) -> Iterator[State]:
        """Nothing split; inputs split; parameters split besides, by the same axes or the others."""
        batch = [unit for unit in self.units if not unit.is_updated]
        batch = [] if len(batch) == len(self.units) else batch
        axes = tuple(place.mesh)
        yield {}
        for used in (axes[:number] for number in range(1, len(axes) + 1)):
            split = {u: (used,) for u in batch if u.accepts((used,), place.mesh)}
            if split:
                yield split
            for others in filter(None, (used, axes[len(used) :])):
                rest = {u: u.split_largest(others, place.mesh) for u in self.units}
                yield {**rest, **split}

    def _descend(self, start: Sharded) -> Sharded:
        """Change one unit at a time, as long as that helps."""
        best = start
        for _ in range(_SWEEPS):
            before = best
            for unit in self.units:
                if perf_counter() > self.deadline:
                    return best
                changes = unit.moves(best.specs[unit.groups[0]], best.place.mesh)
                states: list[State] = [{**best.state, unit: spec} for spec in changes]
                if unit in best.state:
                    states.append({u: spec for u, spec in best.state.items() if u is not unit})
                found = min(self._predict(states, best.place), key=self.score, default=best)
                if self.score(found) < _GAIN * self.score(best):
                    best = found
            if best is before:
                break
        return best

    def _predict(self, states: Iterable[State], place: Place) -> list[Sharded]:
        """The candidates of states, without those that fail."""
        given = {rules_of_state(state, place.mesh): state for state in states}
        self._ask(given, place)
        return [found for text in given if (found := self._known[text])]

    def _ask(self, states: Mapping[str, State], place: Place, *, is_closed: bool = False) -> None:
        """Predict rules that are new. Where layers got different shardings, all get the usual."""
        new = {text: state for text, state in states.items() if text not in self._known}
        self.tell(f"{len(self._known)} shardings considered, {place}")
        answers = self.predictor.predict(self._candidate(text, place) for text in new)
        mixed: dict[str, str] = {}
        for (text, state), found in zip(new.items(), answers, strict=True):
            self._known[text] = None
            if found is None:
                continue
            specs = specs_by_group(self.groups, found.specs)
            closed = rules_text(specs, place.mesh)
            if is_closed or is_uniform(self.groups, found.specs):
                self._known[text] = Sharded(place, specs, state, found)
                self._known.setdefault(closed, self._known[text])
            else:
                mixed[text] = closed
        if mixed:
            self._ask(
                {closed: states[text] for text, closed in mixed.items()}, place, is_closed=True
            )
            self._known |= {text: self._known[closed] for text, closed in mixed.items()}

    def _candidate(self, text: str, place: Place) -> ShardingCandidate:
        path = self.folder / f"{next(self._numbers)}.rules"
        path.write_text(text)
        return ShardingCandidate(str(path), str(place), place.fabric)
