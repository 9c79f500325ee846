"""Which named scope an op was traced in: the layer, where a library names its layers."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TRANSFORMED = re.compile(r"(\w+)\((.*)\)$")
_FUNCTIONS = frozenset({"jit", "pjit", "pmap", "xla_call"})
_STRUCTURE = re.compile(
    r"(while|body|cond|(body|cond)_(jaxpr|fun)|branch_\d+_fun|scan|closed_call|core_call|checkpoint"
    r"|remat\d?|rematted_computation|shard_map|custom_(jvp|vjp|vmap)_call(_jaxpr)?)$"
)
_DEEPEST = 2  # of nested scopes, the outer ones are alike for a whole network
_MADE = re.compile(r"(\w+ of )?(.*)$", re.DOTALL)


def scopes_of(op_name: str) -> list[str]:
    """The named scopes in an op's path, the outermost first.

    What JAX writes into the path by itself is no scope: the traced function, transformations
    (`jvp(...)`), functions under `jax.jit`, loops and branches, and the primitive at its end.

    Args:
        op_name: as XLA keeps it, "jit(step)/transpose(jvp(conv1))/mul", maybe of what XLA made
            from it: "copy of jit(step)/add".
    """
    _, path = _split(op_name)
    return [scope for part in path[:-1] for scope in _named(part)]


def scope_of(op_name: str) -> str:
    """The innermost named scopes of an op, as "block_1/conv"; "" where there are none.

    What `transpose` made is "gradient of" its scope.
    """
    words = "/".join(scopes_of(op_name)[-_DEEPEST:])
    return f"gradient of {words}" if words and "transpose(" in op_name else words


def op_in_scope(op_name: str) -> str:
    """A path in words: "add in block_1/conv", or "add" where there is no scope."""
    scope = scope_of(op_name)
    return f"{primitive_of(op_name)} in {scope}" if scope else primitive_of(op_name)


def primitive_of(op_name: str) -> str:
    """What an op does, the end of its path: "add"."""
    made, path = _split(op_name)
    return f"{made}{path[-1]}"


def _split(op_name: str) -> tuple[str, list[str]]:
    """What XLA made of an op, "copy of " say, and the parts of the path of that op."""
    made, path = _MADE.match(op_name).groups("")  # type: ignore[union-attr]
    return made, list(_parts(path.partition(";")[0]))  # what XLA merged follows a semicolon


def _parts(path: str) -> Iterator[str]:
    """What stands between slashes outside of parentheses."""
    start, depth = 0, 0
    for at, character in enumerate(path):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "/" and depth == 0:
            yield path[start:at]
            start = at + 1
    yield path[start:]


def _named(part: str) -> Iterator[str]:
    """The scopes in one part of a path."""
    transformed = _TRANSFORMED.match(part)
    if transformed is None:
        if part and not _STRUCTURE.match(part):
            yield part
        return
    transformation, inner = transformed.groups()
    if transformation not in _FUNCTIONS:
        for each in _parts(inner):
            yield from _named(each)
