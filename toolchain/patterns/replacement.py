"""`jxc.replacement`: a rewrite given as two JAX functions, a search and what replaces it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from ..pipeline.run import opt
from ..rewrite import TARGETS, Contract, Pass, PassLike, collect_remarks
from .apply import replacement_pass
from .declare import Alternative, ConstantInput, Declaration, SearchedFunction, parse_inputs


class Replacement(Declaration, PassLike):
    """A function that is searched for in programs, and the functions that can take its place.

    Made by `@jxc.replacement`. It can stand wherever a pass or a rule can.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<jxc replacement {self.name}, {self.contract}: {self.doc.partition(chr(10))[0]}>"

    def search(self, **given: Any) -> Callable[[Callable[..., Any]], Replacement]:
        """Add another way in which programs write the same.

            @attention.search(mask=None, divisor=float, scale=lambda m: 1 / m.divisor)
            def attention_divided(q, k, v, divisor):
                return jax.nn.softmax(q @ k.swapaxes(-1, -2) / divisor) @ v

        Args:
            given: the inputs that this function does not have, with the values that alternatives
                get for them: values, or functions of the constants of the match. `float` or `int`
                for another name declares a constant that only this function has.

        Raises:
            TypeError: an input is not declared, or the function has other parameters.
        """
        own = {name: kind for name, kind in given.items() if kind in (float, int)}
        values = {name: value for name, value in given.items() if name not in own}
        if unknown := sorted(values.keys() - self.inputs.keys()):
            raise TypeError(f"{self.name} has no input {unknown[0]!r}: {', '.join(self.inputs)}")
        if both := sorted(own.keys() & self.inputs.keys()):
            raise TypeError(f"{self.name} has an input {both[0]!r} already: give another name")
        constants = {
            name: ConstantInput.numbered(kind, len(self.inputs) + number)
            for number, (name, kind) in enumerate(own.items())
        }

        def decorate(function: Callable[..., Any]) -> Replacement:
            left = [name for name in self.inputs if name not in values]
            _check_parameters(function, [*left, *own])
            self.searches.append(SearchedFunction(function, values, constants))
            return self

        return decorate

    @overload
    def by(
        self,
        function: Callable[..., Any],
        *,
        when: Callable[[Any], bool] | None = None,
        targets: str | Sequence[str] | None = None,
        differentiable: bool = True,
    ) -> Replacement: ...

    @overload
    def by(
        self,
        *,
        when: Callable[[Any], bool] | None = None,
        targets: str | Sequence[str] | None = None,
        differentiable: bool = True,
    ) -> Callable[[Callable[..., Any]], Replacement]: ...

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

    def why(self, module: Any, *, target: str = "cpu") -> str:
        """Why it does not apply to a module: the nearest match; empty where it applies.

        Args:
            module: what `jxc.opt` takes, or what `jxc.lower` returns.
            target: the hardware to optimise for: "cpu", "gpu" or "tpu".

        Raises:
            JxcError: the module is malformed, or a function cannot be traced.
        """
        with collect_remarks() as remarks:
            opt(getattr(module, "module", module), self, target=target)
        missed = [each for each in remarks if each.kind == "missed"]
        return "\n".join(f"{each.location}: {each.text}".lstrip(": ") for each in missed)

    def as_pass(self) -> Pass:
        """The pass of this replacement alone, with the options of passes made of rules."""
        return replacement_pass(self.name, self.doc, [self])


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
    parsed = parse_inputs(inputs)

    def decorate(function: Callable[..., Any]) -> Replacement:
        _check_parameters(function, list(inputs))
        return Replacement(function, contract, parsed, samples or {})

    return decorate


def _check_parameters(function: Callable[..., Any], expected: Sequence[str]) -> None:
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, _EITHER)]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if names != list(expected) and not takes_any:
        raise TypeError(
            f"{getattr(function, '__name__', function)} has the parameters {', '.join(names)}; "
            f"expected {', '.join(expected)}, in this order"
        )


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
