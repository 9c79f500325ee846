"""A rule: one rewrite of one op, its contract, and the roots it is tried on."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeAlias

from jaxlib.mlir import ir

from .contract import ASSUMPTIONS, Contract
from .former_names import warn_renamed

Replacement: TypeAlias = ir.Value | ir.OpView | Sequence[ir.Value] | None


@dataclass(frozen=True)
class Rule:
    """A rewrite that the driver tries on every op of its roots. Made by `@rule`.

    Attributes:
        name: kebab-case, as on the command line.
        function: takes the op (and `context`), returns what replaces its results, or None.
        roots: the names of the ops it is tried on, such as "stablehlo.add".
        contract: how far it may move a result.
        assumes: the promise it needs from the user, if any.
        targets: the targets on which it pays; None for all.
        wants_context: whether `function` takes `context`.
        producer: the kinds of op of which one must produce an operand; None for any.
        partitioned: whether it is tried in programs that are partitioned over devices.
    """

    name: str
    function: Callable[..., Replacement]
    roots: tuple[str, ...]
    contract: Contract
    assumes: str | None
    targets: tuple[str, ...] | None
    wants_context: bool
    producer: frozenset[type] | None = None
    partitioned: bool = True

    @property
    def doc(self) -> str:
        """The equation and the condition that makes it true."""
        return inspect.getdoc(self.function) or ""

    @property
    def terms(self) -> str:
        """Its contract, and where it is tried: "exact, on cpu, not across devices"."""
        promise = f", assumes {self.assumes}" if self.assumes else ""
        targets = f", on {', '.join(self.targets)}" if self.targets else ""
        devices = "" if self.partitioned else ", not across devices"
        return f"{self.contract}{promise}{targets}{devices}"

    def may_fire_on(self, producers: Set[type]) -> bool:
        """Whether operands from ops of these kinds can be what the rule looks for."""
        return self.producer is None or not self.producer.isdisjoint(producers)

    def __call__(self, *args: Any) -> Replacement:
        return self.function(*args)


def rule(
    contract: Contract,
    *,
    assumes: str | None = None,
    targets: Sequence[str] | None = None,
    producer: type | Sequence[type] | None = None,
    partitioned: bool = True,
    of: type | Sequence[type] | None = None,
) -> Callable[[Callable[..., Replacement]], Rule]:
    """Turn a function from an op to its replacement into a `Rule`.

    The root comes from the annotation of the first parameter: an op class, or a union of them. A
    second parameter named `context` receives the `PassContext` of the run.

    Args:
        contract: `exact`, `reassociates` or `approximates(ulps=n)`.
        assumes: "no-nans", "no-infs" or "no-signed-zeros": tried only where the user promised it.
        targets: the targets on which the rule pays, such as ("cpu",); all when None.
        producer: an op class, or several: the rule is tried only where one of them produces an
            operand. This affects speed only: other ops of the root are skipped early.
        partitioned: False for what cuts up an axis, or loops over it, so that devices between which
            the axis is split would have to tell each other more: it is not tried in a program
            that is partitioned over several.

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

    def decorate(function: Callable[..., Replacement]) -> Rule:
        return Rule(
            name=kebab(function.__name__),
            function=function,
            roots=_roots(function),
            contract=contract,
            assumes=assumes,
            targets=None if targets is None else tuple(targets),
            wants_context=len(inspect.signature(function).parameters) > 1,
            producer=None
            if producer is None
            else frozenset([producer] if isinstance(producer, type) else producer),
            partitioned=partitioned,
        )

    return decorate


def kebab(name: str) -> str:
    """A Python name as it is spelled on the command line."""
    return name.strip("_").replace("_", "-")


def _roots(function: Callable[..., Replacement]) -> tuple[str, ...]:
    parameters = list(inspect.signature(function).parameters)
    where = f"rule {function.__name__!r}"
    if parameters[1:] == ["facts"]:
        warn_renamed(f"{where}: the parameter `facts`", "`context`", stacklevel=4)
    elif not parameters or parameters[1:] not in ([], ["context"]):
        raise TypeError(f"{where}: expected the parameters (op) or (op, context), got {parameters}")
    if not inspect.getdoc(function):
        raise TypeError(f"{where}: its docstring must state the equation it applies")
    annotation = _annotations(function).get(parameters[0])
    is_union = isinstance(annotation, UnionType) or typing.get_origin(annotation) is typing.Union
    classes = typing.get_args(annotation) if is_union else (annotation,)
    names = tuple(getattr(cls, "OPERATION_NAME", None) for cls in classes)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{where}: annotate {parameters[0]!r} with the op class it rewrites")
    return typing.cast("tuple[str, ...]", names)


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise TypeError(
            f"rule {function.__name__!r}: {error.name!r} in its annotations is not imported here"
        ) from None
