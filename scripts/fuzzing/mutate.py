"""Random changes to an input: to bytes, tokens, lines, types and numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"[A-Za-z_][\w.$]*|[%@#!^][\w.$]*|-?\d+(?:\.\d+)?|\"[^\"\n]*\"|->|\S")
_TYPE = re.compile(r"tensor<[^<>\n]*>|\b(?:i1|[us]?i(?:8|16|32|64)|f16|bf16|f32|f64)\b")
_TYPES = (
    *("tensor<f32>", "tensor<?xf32>", "tensor<*xf32>", "tensor<0xi1>", "tensor<4294967296xi8>"),
    *("tensor<3x!quant.uniform<i8:f32, 0.1>>", "tensor<2xcomplex<f32>>", "tensor<3xindex>"),
    *(
        "!stablehlo.token",
        "memref<2xf32>",
        "vector<4xf32>",
        "tuple<>",
        "none",
        "index",
        "i7",
        "f8E4M3",
    ),
)
_NUMBERS = ("0", "1", "-1", "2", "127", "4294967296", "9223372036854775807", "-9223372036854775808")

Mutation = Callable[[random.Random, bytes], bytes]


def mutant(generator: random.Random, data: bytes) -> bytes:
    """The input with one to four random changes."""
    is_text = b"\0" not in data[:64] and not data.startswith(b"ML\xef")
    menu = _OF_TEXT if is_text and generator.random() < 0.85 else _OF_BYTES
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        data = generator.choice(menu)(generator, data)
    return data


def _cut_points(generator: random.Random, data: bytes) -> tuple[int, int]:
    first = generator.randrange(len(data) + 1)
    return first, min(len(data), first + generator.choice((1, 2, 4, 8, 40)))


def flip(generator: random.Random, data: bytes) -> bytes:
    """Change one bit or one byte."""
    if not data:
        return data
    at = generator.randrange(len(data))
    value = generator.choice((data[at] ^ (1 << generator.randrange(8)), generator.randrange(256)))
    return data[:at] + bytes([value]) + data[at + 1 :]


def truncate(generator: random.Random, data: bytes) -> bytes:
    """Keep only the beginning."""
    return data[: generator.randrange(len(data) + 1)]


def delete(generator: random.Random, data: bytes) -> bytes:
    """Delete a few bytes."""
    first, end = _cut_points(generator, data)
    return data[:first] + data[end:]


def repeat(generator: random.Random, data: bytes) -> bytes:
    """Repeat a few bytes."""
    first, end = _cut_points(generator, data)
    return data[:end] + data[first:]


def insert(generator: random.Random, data: bytes) -> bytes:
    """Insert a few random bytes."""
    at = generator.randrange(len(data) + 1)
    return data[:at] + generator.randbytes(generator.randint(1, 8)) + data[at:]


def _on_text(change: Callable[[random.Random, str], str]) -> Mutation:
    def mutation(generator: random.Random, data: bytes) -> bytes:
        text = data.decode(errors="surrogateescape")
        return change(generator, text).encode(errors="surrogateescape")

    return mutation


def _replace(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _swap_tokens(generator: random.Random, text: str) -> str:
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) < 2:
        return text
    first, second = sorted(generator.sample(range(len(tokens)), 2))
    a, b = tokens[first], tokens[second]
    return _replace(_replace(text, b, a[0]), a, b[0])


def _replace_token(generator: random.Random, text: str) -> str:
    """Replace a token by another with the same first letter, such as a value by a value."""
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    chosen = generator.choice(tokens)
    alike = [each[0] for each in tokens if each[0][0] == chosen[0][0]]
    return _replace(text, chosen, generator.choice(["", *alike]))


def _change(pattern: re.Pattern[str], by: tuple[str, ...]) -> Callable[[random.Random, str], str]:
    """Replace a match by another from the text, or by a rare one."""

    def change(generator: random.Random, text: str) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        others = (*by, *(each[0] for each in found))
        return _replace(text, generator.choice(found), generator.choice(others))

    return change


def _lines(generator: random.Random, text: str) -> str:
    """Repeat, drop or move a line."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at, to = generator.randrange(len(lines)), generator.randrange(len(lines))
    line = lines[at]
    if generator.random() < 0.6:
        del lines[at]
    if generator.random() < 0.6:
        lines.insert(to, line)
    return "".join(lines)


_OF_BYTES: tuple[Mutation, ...] = (flip, flip, flip, truncate, delete, repeat, insert)
_OF_TEXT: tuple[Mutation, ...] = (
    _on_text(_swap_tokens),
    _on_text(_replace_token),
    _on_text(_replace_token),
    _on_text(_change(_TYPE, _TYPES)),
    _on_text(_change(_TYPE, _TYPES)),
    _on_text(_change(re.compile(r"-?\b\d+\b"), _NUMBERS)),
    _on_text(_change(re.compile(r"stablehlo\.\w+"), ("stablehlo.tuple", "chlo.tan", "func.call"))),
    _on_text(_lines),
    truncate,
    flip,
)
