"""Rules: one rewrite of one op, with a contract on what it may change; and the context of a run.

`@rule(exact)` makes a `Rule` of a function from an op to its replacement. The annotation of the
first parameter says which ops it is tried on, the docstring states the equation. `driver` decides
which rules are active in a run, `worklist` tries them.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Any, Protocol, TypeAlias

from jaxlib.mlir import ir

from ..cost.device import Device, device_of
from ..cost.rates import Rates, rates_of
from ..errors import JxcError, UsageError
from .former_names import warn_renamed
from .remarks import NoMatch

RuleResult: TypeAlias = ir.Value | ir.OpView | Sequence[ir.Value] | NoMatch | None

TARGETS = ("cpu", "gpu", "tpu")
"""The kinds of hardware that a pipeline can be run for."""

ASSUMPTIONS = ("no-nans", "no-infs", "no-signed-zeros")
"""The promises that a user can give, and a rule can need. They are named as in LLVM."""


class Partition(Protocol):
    """How a program is split over devices."""

    def parts(self, value: ir.Value, dim: int) -> int:
        """The number of parts into which a dimension of a value is split."""
        ...


@dataclass(frozen=True)
class PassContext:
    """The settings of one run of a pipeline; every pass and rule of the run sees the same.

    Attributes:
        target: the kind of hardware to compile for: "cpu", "gpu" or "tpu". May be given as the
            name of a target, such as "gpu:l4".
        assumptions: the promises that the user gave: "no-nans", "no-infs", "no-signed-zeros".
        rates: the measured speeds of the target; those measured on this machine, or the shipped
            ones, unless given.
        device: the hardware; unless given or named, this machine's CPU, an H100 or a TPU v5e.
        calls: how often the program will run, which weighs run time against compile time.
        always: carry out priced rewrites even if they do not pay, to test that they are correct.
        partition: how the program is split over several devices, set by the driver; rules call
            `parts`.
    """

    target: str = "cpu"
    assumptions: frozenset[str] = frozenset()
    rates: Rates = field(default=None, repr=False)  # type: ignore[assignment]  # see __post_init__
    device: Device = field(default=None, repr=False)  # type: ignore[assignment]
    calls: int = 5000
    always: bool = False
    partition: Partition | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind, _, rest = self.target.partition(":")
        if kind not in TARGETS:
            raise UsageError(f"target {self.target!r}: expected {', '.join(TARGETS)}")
        rates = rates_of(kind) if self.rates is None else self.rates
        device = self.device or device_of(kind, rest.partition(":")[0], rates)
        rates = replace(rates, of_device=device.rates)
        for name, value in (("target", kind), ("rates", rates), ("device", device)):
            object.__setattr__(self, name, value)

    def parts(self, value: ir.Value, dim: int) -> int:
        """The number of parts into which a dimension of a value is split over devices.

        It is 1 in a program on one device, and inside `jax.shard_map` over all axes of the mesh.
        """
        return 1 if self.partition is None else self.partition.parts(value, dim)


def promises(assume: str | Sequence[str]) -> frozenset[str]:
    """The promises in `assume`: names separated by commas, in one text or several.

    Raises:
        UsageError: a promise is unknown.
    """
    texts = [assume] if isinstance(assume, str) else assume
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    if unknown := sorted(names - set(ASSUMPTIONS)):
        raise UsageError(f"promise {unknown[0]!r}: expected {', '.join(ASSUMPTIONS)}")
    return frozenset(names)


@dataclass(frozen=True)
class Contract:
    """What a rule may change: `exact`, `reassociates` or `approximates(ulps=n)`.

    Attributes:
        kind: "exact", "reassociates" or "approximates".
        ulps: the bound on the error of an approximation, in units in the last place.
    """

    kind: str
    ulps: float = 0.0

    def __str__(self) -> str:
        return f"approximates(ulps={self.ulps:g})" if self.ulps else self.kind


exact = Contract("exact")
"""The same bits for every input, with NaN, infinities, signed zeros and wrap-around."""

reassociates = Contract("reassociates")
"""The same function of real numbers, rounded differently, as by another order of summation."""


def approximates(*, ulps: float) -> Contract:
    """Another algorithm for the same function, within `ulps` of it for all inputs."""
    if not ulps > 0:
        raise ValueError(f"approximates(ulps=...) needs a positive bound, got {ulps!r}")
    return Contract("approximates", ulps)


@dataclass
class RuleCount:
    """The work of one rule in one run of a pass.

    Attributes:
        name: the rule's name.
        hits: the number of ops it replaced.
        tries: the number of ops it was tried on.
        seconds: the time spent in it.
    """

    name: str
    hits: int = 0
    tries: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, repr=False)
class Rule:
    """A rewrite that is tried on every op of some kinds. Made by `@rule`.

    Attributes:
        name: in kebab-case, as on the command line.
        function: takes the op (and `context`), returns what replaces its results, or None.
        roots: the names of the ops it is tried on, such as "stablehlo.add".
        contract: what it may change.
        assumes: the promise that it needs from the user, or None.
        targets: the targets on which it pays; None for all.
        by_rates: whether it decides by `context.rates`: it is also tried on other targets with
            rates.
        priced: whether it is carried out only if it pays, see `gate`.
        wants_context: whether `function` takes `context`.
        producer: the op classes of which one must produce an operand; None for any.
        needs: the op classes of which the module must hold one; None for any.
        constants: the splat constants of which one must be an operand: numbers as `str` writes
            floats, or "splat" for any; None for any operands.
        parts: the functions and texts that define it besides `function`, for the keys of caches.
    """

    name: str
    function: Callable[..., RuleResult]
    roots: tuple[str, ...]
    contract: Contract
    assumes: str | None
    targets: tuple[str, ...] | None
    wants_context: bool
    producer: frozenset[type] | None = None
    needs: frozenset[type] | None = None
    by_rates: bool = False
    priced: bool = False
    constants: frozenset[str] | None = None
    parts: tuple[Any, ...] = ()

    @property
    def doc(self) -> str:
        """The equation and the condition that makes it true."""
        return inspect.getdoc(self.function) or ""

    @property
    def terms(self) -> str:
        """Its contract and where it is tried, such as "exact, on cpu"."""
        promise = f", assumes {self.assumes}" if self.assumes else ""
        targets = f", on {', '.join(self.targets)}" if self.targets else ""
        return f"{self.contract}{promise}{targets}"

    @property
    def needed_names(self) -> tuple[frozenset[str], ...]:
        """Sets of names of ops, of each of which the module must hold one besides a root."""
        return tuple(
            frozenset(getattr(kind, "OPERATION_NAME", "") for kind in kinds)
            for kinds in (self.producer, self.needs)
            if kinds is not None
        )

    def matches(self, producers: Set[type | str]) -> bool:
        """Whether it is tried on an op with operands from ops of these classes, and constants."""
        is_produced = self.producer is None or not self.producer.isdisjoint(producers)
        return is_produced and (self.constants is None or not self.constants.isdisjoint(producers))

    def __call__(self, *args: Any) -> RuleResult:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<jxc rule {self.name}, {self.terms}: {self.doc.partition(chr(10))[0]}>"


def rule(
    contract: Contract,
    *,
    assumes: str | None = None,
    targets: Sequence[str] | None = None,
    producer: type | Sequence[type] | None = None,
    needs: Sequence[type] | None = None,
    by_rates: bool = False,
    priced: bool = False,
    of: type | Sequence[type] | None = None,
) -> Callable[[Callable[..., RuleResult]], Rule]:
    """Turn a function from an op to its replacement into a `Rule`.

    The function returns a value, an op or a sequence of values of the same types as the op's
    results, or None to leave the op alone. It must not build ops if it returns None. Its docstring
    states the equation. The annotation of its first parameter says which ops it is tried on: an op
    class of `jaxlib.mlir.dialects.stablehlo`, or a union of them. A second parameter named
    `context` receives the `PassContext` of the run. `help(jxc.ir)` lists functions for rules.

        @jxc.rule(jxc.exact, producer=NegOp)
        def negate_of_negate(op: NegOp) -> Value | None:
            \"\"\"-(-x) -> x.\"\"\"
            match op.operand.owner:
                case NegOp(operand=x):
                    return x

    Args:
        contract: `exact`, `reassociates` or `approximates(ulps=n)`.
        assumes: "no-nans", "no-infs" or "no-signed-zeros": the rule is tried only if the user
            promised it.
        targets: the targets on which the rule pays, such as ("cpu",); all when None.
        producer: an op class, or several: the rule is tried only if one of them produces an
            operand. This is for speed: other ops of the root are skipped early.
        needs: op classes: the rule applies only in modules with an op of one of them. For speed: a
            pass none of whose rules may fire is skipped.
        by_rates: the rule decides by `context.rates`. It is also tried on other targets that have
            rates, such as those that `jxc calibrate` measured.
        priced: the driver carries it out only if it pays; the function does not decide that.
        of: the former name of `producer`, accepted for one version.

    Raises:
        TypeError: the function's signature or docstring is not that of a rule.
    """
    if of is not None:
        warn_renamed("the parameter `of` of @rule", "`producer`")
        producer = of
    if assumes is not None and assumes not in ASSUMPTIONS:
        raise TypeError(f"assumes={assumes!r}: expected one of {', '.join(ASSUMPTIONS)}")
    if not isinstance(contract, Contract):
        raise TypeError("write @rule(exact), @rule(reassociates) or @rule(approximates(ulps=2))")
    producers = [producer] if isinstance(producer, type) else producer

    def decorate(function: Callable[..., RuleResult]) -> Rule:
        return Rule(
            name=kebab(function.__name__),
            function=function,
            roots=_roots(function),
            contract=contract,
            assumes=assumes,
            targets=None if targets is None else tuple(targets),
            wants_context=len(inspect.signature(function).parameters) > 1,
            producer=None if producers is None else frozenset(producers),
            needs=None if needs is None else frozenset(needs),
            by_rates=by_rates,
            priced=priced,
        )

    return decorate


def kebab(name: str) -> str:
    """The command line's spelling of a Python name."""
    return name.strip("_").replace("_", "-")


def _roots(function: Callable[..., RuleResult]) -> tuple[str, ...]:
    where = f"rule {function.__name__!r}"
    parameters = list(inspect.signature(function).parameters)
    check_parameters(parameters, where, "(op) or (op, context)")
    if not inspect.getdoc(function):
        raise TypeError(f"{where}: its docstring must state the equation it applies")
    try:
        annotation = typing.get_type_hints(function).get(parameters[0])
    except NameError as error:
        raise TypeError(
            f"{where}: its annotations name {error.name!r}, which its module does not import"
        ) from None
    is_union = isinstance(annotation, UnionType) or typing.get_origin(annotation) is typing.Union
    classes = typing.get_args(annotation) if is_union else (annotation,)
    names = tuple(getattr(cls, "OPERATION_NAME", None) for cls in classes)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{where}: annotate {parameters[0]!r} with the class of the ops to rewrite, such as "
            "jaxlib.mlir.dialects.stablehlo.AddOp, or a union of classes"
        )
    return typing.cast("tuple[str, ...]", names)


def check_parameters(names: Sequence[str], where: str, expected: str) -> None:
    """Check the parameters of a rule or pass: an op or a module, and perhaps the context.

    Raises:
        TypeError: there are others.
    """
    if names[1:] == ["facts"]:
        warn_renamed(f"{where}: the parameter `facts`", "`context`", stacklevel=5)
    elif not names or names[1:] not in ([], ["context"]):
        raise TypeError(f"{where}: expected the parameters {expected}, got {names}")


class RuleError(JxcError):
    """A rule returned something that cannot replace its op."""


def checked_result(returned: RuleResult, op: ir.OpView) -> list[ir.Value]:
    """What a rule returned as one value for each result of `op`, of the same types.

    Raises:
        RuleError: it cannot replace `op`.
    """
    if isinstance(returned, ir.Value):
        values = [returned]
    elif isinstance(returned, ir.OpView | ir.Operation):
        values = list(returned.results)
    elif isinstance(returned, Sequence) and all(isinstance(v, ir.Value) for v in returned):
        values = list(returned)
    else:
        raise RuleError(
            f"returned {returned!r}: expected a Value, an op, a sequence of Values or None"
        )
    if any(value.owner == op for value in values):
        raise RuleError(f"returned a result of the {op.operation.name} that it should replace")
    found = [value.type for value in values]
    expected = [result.type for result in op.results]
    if found != expected:
        raise RuleError(
            f"the replacement has type {', '.join(map(str, found)) or 'none'}; "
            f"{op.operation.name} has {', '.join(map(str, expected))}"
        )
    return values
