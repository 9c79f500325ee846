"""The search for the fastest shardings over a mesh that fit into a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isclose, prod
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from jaxlib.mlir import ir

from ....backend.lowered import Lowered
from ....backend.targets import Target
from ....backend.targets.build import build
from ....compiled.schedule import fabric_of
from ....cost.network import Fabric
from ....errors import JxcError, UsageError
from ....ir import write_bytecode
from ....ir.propagation import as_xla_imports
from ....ir.shardings import device_count, format_mesh, meshes_of
from ..request import CompiledVersion, FitRequest, compile_version, request_of
from .explore import Correction, Explorer, Place, Sharded
from .partition import Predictor
from .plans import Planner
from .result import MeshFit, MeshTrial
from .shardings import groups_of, units_of

_MOST_COMPILATIONS = 12
_USUAL_COMPILATIONS = 5
_AXES = ("x", "y")
_SHARE = 0.4
"""The share of the time limit in which candidates are predicted."""

_SHARE_OF_PLANS = 0.4
"""The share of the time limit for plans, if candidates may be faster with them."""

_HOPELESS = 1.5
"""Nothing fits if all candidates are expected to need so many times the budget."""

_LEAST_WAIT = 0.25
"""The least share of the time on the network for which devices are expected to wait."""

_SAME, _SMALLER = 0.02, 0.9
"""Candidates are alike whose predicted times differ by less, if none needs so much less memory."""

_CLOSE = 1.25
"""A candidate is compiled if its expected time is at most so many times the best one's."""


def search_meshes(
    lowered: Lowered,
    target: Target,
    budget: int,
    meshes: Sequence[Mapping[str, int]],
    *,
    pipeline: str = "O2",
    assume: str | Sequence[str] = (),
    seconds: float = 300.0,
    exact: bool = False,
    batch: str = "",
    only_shardings: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> MeshFit:
    """Find the shardings of arguments and results with which a step is fastest.

    Shardings that do not fit get a plan if they are expected to be faster with it than those that
    fit.

    Args:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        meshes: to search over, see `meshes_for`.
        pipeline: the passes that run after `annotate-sharding`, as text.
        assume: promises such as "no-nans".
        seconds: after so many, no further version is compiled than a first one.
        exact, batch: of plans, as for `search`.
        only_shardings: whether no plan is made.
        tell: called with what is being done.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        UsageError: no argument of the program can be split.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    request = request_of(lowered, target, budget, pipeline, assume, seconds, tell, exact, batch)
    with TemporaryDirectory() as folder:
        search = _MeshSearch(request, Path(folder))
        try:
            search.explore(meshes, request.deadline - (1 - _SHARE) * seconds)
            search.compile_best(has_plans=not only_shardings)
            failed = "" if only_shardings else search.try_plans()
            return search.result(failed)
        except KeyboardInterrupt:
            if not search.trials:
                raise
            return search.result("interrupted")
        finally:
            search.predictor.close()


def meshes_for(
    lowered: Lowered, target: Target, mesh: Mapping[str, int] | None, devices: int | None
) -> list[dict[str, int]]:
    """The meshes to search over: the one that is given, or all of one or two axes.

    Args:
        lowered: the program. A mesh in it is the only one.
        target: the hardware.
        mesh: the sizes of the axes; None for any mesh.
        devices: how many to use; None for all of the target.

    Raises:
        UsageError: the numbers of devices disagree, or are not known.
    """
    own = next(iter(meshes_of(lowered.module).values()), {})
    given = dict(mesh or own or lowered.mesh)
    count = devices or (device_count(given) if given else target.most_devices)
    if not count or count < 2:
        raise UsageError(
            f"{target.name} has no number of devices: give a mesh such as data=4,model=2, or "
            "the number of devices"
        )
    if given:
        if device_count(given) != count:
            raise UsageError(
                f"the mesh {format_mesh(given)} has {device_count(given)} devices, not {count}"
            )
        return [given]
    pairs = [(size, count // size) for size in range(2, count) if count % size == 0]
    pairs.sort(key=lambda pair: abs(pair[0] - pair[1]))
    return [dict(zip(_AXES, pair, strict=True)) for pair in pairs] or [{_AXES[0]: count}]


class _MeshSearch:
    """The state of one search, from which a result can be made at any time."""

    def __init__(self, request: FitRequest, folder: Path) -> None:
        self.request, self.folder, self.tell = request, folder, request.tell
        lowered, target = request.lowered, request.target
        self.started, self.last_seconds = perf_counter(), 0.0
        self.trials: list[MeshTrial] = []
        self.tried: list[Sharded] = []
        plain = as_xla_imports(request.after(request.pipeline).module.operation)
        (folder / "module.mlirbc").write_bytes(write_bytecode(plain))
        self.predictor = Predictor(str(folder / "module.mlirbc"), target.name)
        groups = groups_of(plain)
        self.explorer = Explorer(
            groups, units_of(groups), self.predictor, folder, request.budget, 0.0, self.tell
        )
        if not self.explorer.units:
            raise UsageError(f"{lowered.name} has no argument that could be split over devices")

    def explore(self, meshes: Sequence[Mapping[str, int]], deadline: float) -> None:
        """Predict candidates until the deadline."""
        self.explorer.deadline = deadline
        self.explorer.explore([*map(Place, meshes, self._fabrics(meshes))])

    def _fabrics(self, meshes: Sequence[Mapping[str, int]]) -> list[Fabric | None]:
        """The network between the devices of each mesh, in its order."""
        count = device_count(meshes[0])
        target = self.request.target
        if target.kind != "tpu":
            return [fabric_of(target, (), count)] * len(meshes)
        self.tell(f"asking {target.name} for its network")
        made = build(
            _empty(count, self.request.lowered.module.context),
            target,
            mesh=meshes[0],
            other_meshes=meshes[1:],
        )
        first = fabric_of(target, made.places, count)
        orders = [made.orders.get(format_mesh(mesh)) for mesh in meshes]
        return [
            replace(first, devices=tuple(first.devices[n] for n in order))
            if first and order
            else first
            for order in orders
        ]

    def compile_best(self, *, has_plans: bool = False) -> None:
        """Compile what is expected to be fastest, as long as one may beat those before.

        Args:
            has_plans: whether plans follow, for which a part of the time is left.
        """
        while (found := self._next(has_plans)) is not None:
            until = self.request.deadline
            if has_plans and self._too_large():
                until -= _SHARE_OF_PLANS * (until - self.started)
            if self.trials and perf_counter() + self.last_seconds > until:
                return  # it would take as long as the one before
            started = perf_counter()
            self._compile(simplest(found, map(_simplified, self.explorer.found)))
            self.last_seconds = perf_counter() - started

    def _next(self, has_plans: bool) -> Sharded | None:
        """The candidate to compile next."""
        found = map(_simplified, self.explorer.found)
        left = [each for each in found if not any(_alike(each, other) for other in self.tried)]
        best = self._best_seconds()
        if not left or len(self.tried) >= _MOST_COMPILATIONS:
            return None
        if best == inf:
            least = min(map(self.explorer.needed, left))
            most = self.request.budget * (1 if has_plans else _HOPELESS)
            return None if len(self.tried) > 1 and least > most else left[0]
        for simple in map(_simplified, self._simple()):
            if not any(_alike(simple, other) for other in self.tried):
                return simple
        promising = [each for each in left if self.explorer.score(each) < _CLOSE * best]
        if not promising or len(self.tried) >= _USUAL_COMPILATIONS:
            return None
        # Every second one is small: its parameters are split, and computation hides the gathers.
        return promising[0] if len(self.tried) % 2 else min(promising, key=self.explorer.needed)

    def _best_seconds(self) -> float:
        """The time of the best that fits; infinite if none does."""
        best = self._best()
        return inf if best is None else best.seconds

    def _best(self) -> MeshTrial | None:
        """The fastest that fits."""
        fitting = (trial for trial in self.trials if trial.needed <= self.request.budget)
        return min(fitting, key=lambda trial: trial.seconds, default=None)

    def _known(self) -> dict[str, CompiledVersion]:
        """By rules, what the compiler said of shardings without a plan."""
        return {each.sharded.rules: each.compiled for each in self.trials if not each.again}

    def _too_large(self) -> list[Sharded]:
        """The candidates that need more than the budget, and less time than the best that fits."""
        known = self._known()
        found = list[Sharded]()
        for each in sorted(map(_simplified, self.explorer.found), key=self.explorer.time):
            compiled = known.get(each.rules)
            needed = compiled.needed if compiled else self.explorer.needed(each)
            is_faster = self.explorer.time(each) < self._best_seconds()
            is_new = not any(_alike(each, other) for other in found)
            if needed > self.request.budget and is_faster and is_new:
                found.append(each)
        return found

    def try_plans(self) -> str:
        """Make plans, then go on with shardings; why plans failed, if shardings fit without."""
        failed = ""
        try:
            self._plan_best()
        except JxcError as error:
            if self._best_seconds() == inf:
                raise
            failed = f"a plan failed: {error}"
        self.compile_best()
        return failed

    def _plan_best(self) -> None:
        """Make plans for candidates that do not fit, as long as one may beat those before."""
        planner = Planner(self.request, self.folder, self.explorer)
        known = self._known()
        prospects = planner.prospects(self._too_large(), known, self._best_seconds())
        for number, prospect in enumerate(prospects):
            now, best = perf_counter(), self._best_seconds()
            left = self.request.deadline - now
            if prospect.seconds >= best or (best < inf and left < self.last_seconds):
                return
            until = now + left / (len(prospects) - number)
            made = planner.plan(prospect, known.get(prospect.sharded.rules), until)
            self.trials += [made] if made else []

    def _simple(self) -> Iterator[Sharded]:
        """What is compiled in any case, since predictions may mislead the search.

        That is the best start, and the best one that splits the inputs alone.
        """
        starts = sorted(self.explorer.starts, key=self.explorer.score)
        fitting = [each for each in starts if self.explorer.needed(each) <= self.request.budget]
        of_inputs = [s for s in fitting if s.state and not any(u.is_updated for u in s.state)]
        yield from (*starts[:1], *of_inputs[:1])

    def _compile(self, sharded: Sharded) -> None:
        self.tried.append(sharded)
        mesh = sharded.mesh
        self.tell(f"compiling shardings over {format_mesh(mesh)}")
        rules = self.folder / f"trial-{len(self.tried)}.rules"
        rules.write_text(sharded.rules)
        passes = [f"annotate-sharding{{rules={rules}}}", self.request.pipeline]
        after = self.request.after(",".join(filter(None, passes)))
        self.trials.append(MeshTrial(sharded, compile_version(after, self.request.target, mesh)))
        self.explorer.correction = _correction(self.trials)

    def result(self, stopped: str) -> MeshFit:
        """What was found until now."""
        if not self.trials:
            why = self.predictor.failure or "they contradict the program"
            raise JxcError(f"{self.request.lowered.name}: no sharding can be propagated: {why}")
        asked = self.request
        return MeshFit(
            asked.lowered,
            asked.target,
            asked.budget,
            asked.pipeline,
            tuple(self.trials),
            self._best(),
            len(self.explorer.found),
            stopped,
        )


def _alike(one: Sharded, other: Sharded) -> bool:
    """Whether two candidates are not worth two compilations: as fast, and no smaller, by the model.

    That is so where axes of one size are exchanged, or where only small arrays differ.
    """
    a, b = one.prediction, other.prediction
    pairs = ((a.seconds, b.seconds), (a.network_seconds, b.network_seconds))
    is_close = all(isclose(*pair, rel_tol=_SAME) for pair in pairs)
    return is_close and a.needed > _SMALLER * b.needed


def simplest(found: Sharded, others: Iterable[Sharded]) -> Sharded:
    """The candidate that splits least, of one and of others that are as good by the model.

    The model leaves out what small arrays cost whose shardings differ from those around them.
    """
    most = (1 + _SAME) * found.prediction.needed
    good = [each for each in others if each.prediction.needed <= most and _alike(found, each)]
    return min([found, *good], key=_count_of_splits)


def _count_of_splits(sharded: Sharded) -> int:
    """The number of axes that split a dimension, of all groups."""
    return sum(len(axes) for spec in sharded.specs.values() for axes in spec)


def _simplified(found: Sharded) -> Sharded:
    """The same over one axis, if the axes of a mesh that nobody named only occur together."""
    axes = tuple(found.mesh)
    used = {split for spec in found.specs.values() for split in spec if split}
    if axes != _AXES or used != {axes}:
        return found
    mesh = {axes[0]: prod(found.mesh.values())}
    specs = {
        group: tuple(axes[:1] if split else () for split in spec)
        for group, spec in found.specs.items()
    }
    return replace(found, place=Place(mesh), specs=specs)


def _correction(trials: Sequence[MeshTrial]) -> Correction:
    """What the compiler's numbers are relative to the predicted ones: for the fastest trial.

    Those that were slower than expected say little of others. Of memory, the middle of all counts.
    """
    trials = [trial for trial in trials if not trial.again]
    best = min(trials, key=lambda trial: trial.seconds)
    found, known = best.sharded.prediction, best.compiled.computation_seconds
    memory = median(trial.needed / trial.sharded.prediction.needed for trial in trials)
    if known is None:
        return Correction(memory=memory or 1.0)
    sent = found.network_seconds
    waits = max(best.compiled.waiting_seconds / sent, _LEAST_WAIT) if sent else 1.0
    return Correction(known / found.seconds if found.seconds else 1.0, waits, memory or 1.0)


def _empty(devices: int, context: ir.Context) -> ir.Module:
    """A program for so many devices."""
    text = """module @network
      attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{
      func.func public @main(%x: tensor<f32>) -> tensor<f32> {{ return %x : tensor<f32> }} }}"""
    return ir.Module.parse(text.format(devices), context)
