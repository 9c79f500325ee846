"""Transforms of a function, written as one would nest them: `vmap(grad(argnums=0), in_axes=0)`.

The innermost transform is applied first; the function itself is left out. Keyword arguments are
Python literals. Where a transform changes how the function is called:

    grad, value_and_grad, jacfwd, jacrev, hessian, vmap, pmap, checkpoint, jit
        take the function's own arguments.
    jvp(f)   takes (primals, tangents), two tuples; gives (outputs, output tangents).
    vjp(f)   takes (primals, cotangents), a tuple and what f returns; gives (outputs, the
             cotangents of the primals as a tuple), and the auxiliary data with has_aux=True.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError, did_you_mean

_AXES = {"in_axes", "out_axes", "axis_name", "axis_size"}
_GRAD = {"argnums", "has_aux", "holomorphic", "allow_int"}
_JACOBIAN = {"argnums", "has_aux", "holomorphic"}
_DONATE = {"donate_argnums", "donate_argnames"}

KEYWORDS: dict[str, set[str]] = {
    "jit": {"static_argnums", "static_argnames", "keep_unused", "inline"} | _DONATE,
    "grad": _GRAD,
    "value_and_grad": _GRAD,
    "vmap": _AXES | {"spmd_axis_name"},
    "jvp": {"has_aux"},
    "vjp": {"has_aux"},
    "checkpoint": {"policy", "prevent_cse", "static_argnums"},
    "pmap": _AXES | {"static_broadcasted_argnums", "donate_argnums"},
    "jacfwd": _JACOBIAN,
    "jacrev": _JACOBIAN,
    "hessian": _JACOBIAN,
}
"""The transforms, and the keyword arguments of each; jax.NAME documents them."""

_ALIASES = {"remat": "checkpoint"}


class TransformError(UsageError):
    """A malformed transform; the message gives the column."""


@dataclass(frozen=True)
class TransformStep:
    """One transform with its keyword arguments."""

    name: str
    keywords: tuple[tuple[str, Any], ...] = ()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        keywords = dict(self.keywords)
        if self.name == "checkpoint" and "policy" in keywords:
            keywords["policy"] = _policy(keywords["policy"])
        if apply := _CALLED_DIFFERENTLY.get(self.name):
            transformed = apply(fn, **keywords)  # keeps its own signature; jax.grad renames as well
            transformed.__name__ = f"{self.name}_{getattr(fn, '__name__', 'function')}"
            return transformed
        jax_transformed: Callable[..., Any] = getattr(jax, self.name)(fn, **keywords)
        return jax_transformed


@dataclass(frozen=True)
class Transform:
    """Nested transforms, the outermost first; prints as the user writes it."""

    steps: tuple[TransformStep, ...]

    def __str__(self) -> str:
        text = ""
        for step in reversed(self.steps):
            inside = [text] * bool(text) + [f"{key}={value!r}" for key, value in step.keywords]
            text = f"{step.name}({', '.join(inside)})" if inside else step.name
        return text

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Apply every transform to a function, the innermost first."""
        for step in reversed(self.steps):
            fn = step(fn)
        return fn

    def has(self, name: str) -> bool:
        """Whether one of the transforms is `name`."""
        return any(step.name == name for step in self.steps)


def parse_transform(text: str) -> Transform:
    """The transforms in a text such as `vmap(grad(argnums=0), in_axes=0)`.

    Raises:
        TransformError: the text is malformed, or a transform or an argument is unknown.
    """
    try:
        node: ast.expr | None = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _error(text, error.offset or 1, f"{error.msg}; {_EXPECTED}") from None
    steps = []
    while node is not None:
        step, node = _parse_step(text, node)
        steps.append(step)
    return Transform(tuple(steps))


_EXPECTED = "write e.g. vmap(grad(argnums=0), in_axes=(None, 0))"


def _error(text: str, column: int, problem: str) -> TransformError:
    return TransformError(
        f"--transform, column {column}: {problem}\n    {text}\n    {' ' * (column - 1)}^"
    )


def _parse_step(text: str, node: ast.expr) -> tuple[TransformStep, ast.expr | None]:
    """One transform, and the node of the transform inside it."""
    column = node.col_offset + 1
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    name = _transform_name(text, call.func, column)
    if len(call.args) > 1:
        found = ast.unparse(call.args[1])
        problem = f"expected keyword arguments after what {name} is applied to, found '{found}'"
        raise _error(text, call.args[1].col_offset + 1, f"{problem}; {_EXPECTED}")
    keywords = tuple(_parse_keyword(text, name, keyword) for keyword in call.keywords)
    return TransformStep(name, keywords), call.args[0] if call.args else None


def _transform_name(text: str, node: ast.expr, column: int) -> str:
    spelled = ast.unparse(node)
    name = spelled.removeprefix("jax.")
    name = _ALIASES.get(name, name)
    if name in KEYWORDS:
        return name
    offer = did_you_mean(name, list(KEYWORDS)) or f" Known: {', '.join(KEYWORDS)}."
    hint = " The function itself is left out: grad(argnums=0), not grad(f, argnums=0)."
    inside = hint if column > 1 and isinstance(node, ast.Name) else ""
    raise _error(text, column, f"expected a transform, found '{spelled}'.{offer}{inside}")


def _parse_keyword(text: str, transform: str, node: ast.keyword) -> tuple[str, Any]:
    column, known = node.col_offset + 1, KEYWORDS[transform]
    if node.arg not in known:
        offer = did_you_mean(node.arg or "**", sorted(known))
        takes = offer or f" It takes {', '.join(sorted(known))}."
        raise _error(text, column, f"{transform} takes no argument '{node.arg}'.{takes}")
    try:
        return node.arg, ast.literal_eval(node.value)
    except ValueError:
        found = ast.unparse(node.value)
        problem = f"expected a number, string, tuple or dict for {node.arg}, found '{found}'"
        raise _error(text, node.value.col_offset + 1, problem) from None


# Transforms whose result takes other arguments than the function


def _jvp(fn: Callable[..., Any], *, has_aux: bool = False) -> Callable[..., Any]:
    import jax

    def forward(primals: Any, tangents: Any) -> Any:
        return jax.jvp(fn, tuple(primals), tuple(tangents), has_aux=has_aux)

    return forward


def _vjp(fn: Callable[..., Any], *, has_aux: bool = False) -> Callable[..., Any]:
    import jax

    def backward(primals: Any, cotangents: Any) -> Any:
        outputs, pull_back, *aux = jax.vjp(fn, *primals, has_aux=has_aux)
        return (outputs, pull_back(cotangents), *aux)

    return backward


_CALLED_DIFFERENTLY = {"jvp": _jvp, "vjp": _vjp}


def _policy(name: Any) -> Any:
    """A rematerialisation policy of `jax.checkpoint_policies` by its name."""
    import jax

    policies = [key for key in dir(jax.checkpoint_policies) if not key.startswith("_")]
    if name not in policies:
        offer = did_you_mean(str(name), policies) or f" Known: {', '.join(policies)}."
        raise TransformError(f"--transform: no checkpoint policy {name!r}.{offer}")
    return getattr(jax.checkpoint_policies, name)
