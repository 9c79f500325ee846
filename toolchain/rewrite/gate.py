"""The gate: whether a rewrite pays, by the prices of what it removes and of what it builds.

Both are priced with the ops around them that XLA may fuse with them. A rewrite is carried out if
the run time falls by `MARGIN` and `LEAST_SAVED`, and what it saves in `PassContext.calls` runs is
more than it costs to compile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from ..cost.fusion import is_fusible
from ..cost.price import UNKNOWN_TRIPS, Price
from ..cost.prices import Version, prices_of_versions
from ..ir.bounds import trip_count
from ..units import counted, show_seconds
from .cone import dying
from .remarks import is_collecting, remark
from .signature import Signature, signature_of

if TYPE_CHECKING:
    from .rule import PassContext, Rule

MARGIN = 1.1
"""How many times longer the original ops must take. Prices are estimates."""

LESS_MARGIN = 1.03
"""The same if the new ops compile faster: both versions then consist of mostly the same ops."""

LEAST_SAVED = 0.5e-6
"""The least seconds that a rewrite must save in one run: prices are less precise than this."""

_NEAR = 12
"""How many ops around a rewrite are priced with it, before it and after it."""


@dataclass(frozen=True)
class RewritePrices:
    """The prices of one rewrite.

    Attributes:
        before: of the kernels that it removes or changes.
        after: of the kernels that it builds, or that it changed.
        device: the name of the device.
    """

    before: Price
    after: Price
    device: str

    @property
    def is_faster(self) -> bool:
        """Whether the run time falls by the margin and `LEAST_SAVED`."""
        old, new = self.before.seconds, self.after.seconds
        is_simpler = self.after.compile_seconds < self.before.compile_seconds
        margin = LESS_MARGIN if is_simpler else MARGIN
        return old >= margin * new and old - new >= LEAST_SAVED

    def saved_in(self, calls: int) -> float:
        """The seconds that it saves in so many runs, less those to compile."""
        saved = self.before.seconds - self.after.seconds
        return saved * calls - (self.after.compile_seconds - self.before.compile_seconds)

    def __str__(self) -> str:
        if isnan(self.after.seconds) or isnan(self.before.seconds):
            return f"the model has no price of these ops on {self.device}"
        kernels = self.after.kernels - self.before.kernels
        after, before = show_seconds(self.after.seconds), show_seconds(self.before.seconds)
        parts = [f"{after} instead of {before} on {self.device}"]
        if kernels:
            parts.append(counted(abs(kernels), "more kernel" if kernels > 0 else "fewer kernel"))
        compiling = self.after.compile_seconds - self.before.compile_seconds
        if compiling > 0:
            parts.append(f"{show_seconds(compiling)} more to compile")
        return ", ".join(parts)


class Gate:
    """Decides which rewrites pay, in one run of a pass.

    Args:
        context: of the pass.
        is_guarded: whether a rewrite may be refused for other reasons than its price.
    """

    def __init__(self, context: PassContext, is_guarded: bool) -> None:
        self._context = context
        self._known: dict[tuple[str, Signature], float] = {}
        self._asked: set[Signature] = set()
        self._remembers = not is_guarded and not context.always

    def signature(self, op: ir.OpView) -> Signature | None:
        """The signature of `op`, if a rewrite of an op of its types was priced before."""
        if not self._asked or _types(op) not in self._asked or not self._is_remembering():
            return None
        return _signature(op)

    def _is_remembering(self) -> bool:
        return self._remembers and not is_collecting()  # a remark states the two prices

    def known(self, rule: Rule, signature: Signature) -> float | None:
        """What `decide` returned for the rule on another op of this signature."""
        return self._known.get((rule.name, signature))

    def decide(
        self,
        rule: Rule,
        op: ir.OpView,
        values: Sequence[ir.Value],
        built: Sequence[ir.OpView],
        signature: Signature | None,
    ) -> float:
        """The seconds that a rewrite saves in `context.calls` runs; 0.0 if it does not pay.

        It is `inf` for rules without a price. A rewrite that does not pay adds a remark.
        """
        context = self._context
        if not rule.priced or context.always:
            return inf
        if signature is None and self._is_remembering():
            self._asked.add(_types(op))
            signature = _signature(op, set(built))
        prices = judge(op, values, built, context)
        saved = prices.saved_in(context.calls) if prices.is_faster else 0.0
        if saved <= 0 and is_collecting():
            reason = f", which {context.calls:,} runs do not save" if prices.is_faster else ""
            remark(rule.name, "missed", op.location, f"declined: {prices}{reason}")
        saved = max(saved, 0.0)
        if signature is not None:
            self._known[rule.name, signature] = saved
        return saved


def _types(op: ir.OpView) -> Signature:
    return type(op), *(value.type for value in (*op.operands, *op.results))


def _signature(op: ir.OpView, built: Collection[ir.OpView] = ()) -> Signature | None:
    found = signature_of(op, built)
    return None if found is None else (_times(op), *found)


def judge(
    op: ir.OpView, values: Sequence[ir.Value], built: Sequence[ir.OpView], context: PassContext
) -> RewritePrices:
    """The prices of replacing the results of `op` by `values`, computed by the ops `built`."""
    removed = dying(op)
    left = {each.results[0] for each in removed if len(each.results)}
    own = {each.results[0] for each in built if len(each.results)}
    around = {**_users(op, left | own), **_producers([*removed, *built], left | own)}
    before = {**around, **{each.results[0]: each for each in removed}}
    after = {**around, **{each.results[0]: each for each in built if len(each.results)}}
    renamed = dict(zip(op.results, values, strict=True))
    inside = before.keys() | own
    outputs = [v for each in before.values() for v in each.results if _is_read(v, inside)]
    kept = [v for v in outputs if v in renamed or v.owner.results[0] in around]
    old, new = prices_of_versions(
        Version(before.values(), outputs, {}),
        Version(after.values(), kept, renamed),
        context.device,
        context.rates,
    )
    times = _times(op)
    return RewritePrices(_scaled(old, times), _scaled(new, times), context.device.name)


def _is_read(value: ir.Value, inside: Iterable[ir.Value]) -> bool:
    """Whether an op that is not `inside` reads `value`."""
    for use in value.uses:
        results = use.owner.results
        if not len(results) or results[0] not in inside:
            return True
    return False


def _users(op: ir.OpView, seen: set[ir.Value]) -> dict[ir.Value, ir.OpView]:
    """The ops of its block that may share a kernel with `op` and read it, by their first result."""
    block, found = op.operation.block, dict[ir.Value, ir.OpView]()
    pending = list(op.results)
    while pending and len(found) < _NEAR:
        for use in pending.pop(0).uses:
            user = use.owner
            if not is_fusible(user) or user.operation.block != block:
                continue
            if user.results[0] not in found and user.results[0] not in seen:
                found[user.results[0]] = user
                pending += user.results
    return found


def _producers(ops: Sequence[ir.OpView], seen: set[ir.Value]) -> dict[ir.Value, ir.OpView]:
    """The ops of their block that may share a kernel with `ops`, and compute what these read."""
    block, found = ops[0].operation.block, dict[ir.Value, ir.OpView]()
    pending = [value for op in ops for value in op.operands]
    while pending and len(found) < _NEAR:
        owner = pending.pop(0).owner
        if isinstance(owner, ir.Block) or not is_fusible(owner):
            continue
        key = owner.results[0]
        if owner.operation.block == block and key not in seen and key not in found:
            found[key] = owner
            pending += owner.operands
    return found


def _scaled(price: Price, times: float) -> Price:
    return Price().plus(price, times)


def _times(op: ir.OpView) -> float:
    """How often `op` runs: the product of the trip counts of the loops around it."""
    times, parent = 1.0, op.operation.parent
    while parent is not None and parent.name != "func.func":
        if parent.name == "stablehlo.while":
            trips = trip_count(parent.opview)
            times *= UNKNOWN_TRIPS if trips is None else max(trips, 1)
        parent = parent.parent
    return times
