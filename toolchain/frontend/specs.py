"""Argument specs: the syntax for the arguments of a function on the command line.

    argument := [NAME '='] value
    value    := array | key | '@' file | '{' key ':' value, ... '}' | '[' value, ... ']'
              | '(' value, ... ')' | number | string | True | False | None
    array    := DTYPE '[' dim, ... ']' | dim 'x' ... 'x' DTYPE | 'tensor<' ... '>'
    key      := 'key<' fry | rbg | urbg '>[' dim, ... ']'
    file     := PATH.npy | PATH.npz '[' NAME ']'

A dim is a number or an expression over names: `f32[b,128]`, `f32[2*b]`. A recursive-descent parser
reads one argument and reports the column of an error. `arguments.py` makes values of the result.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import UsageError, did_you_mean
from ..files import MOST_DIGITS
from ..ir.dtypes import canonical_dtype, known_dtypes, short_dtype

KEY_KINDS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
"""The kinds of random keys: the name in a spec, and that of `jax.random.key`."""


class SpecError(UsageError):
    """A malformed argument spec; the message gives the argument and the column."""


@dataclass(frozen=True)
class ArraySpec:
    """An array of `dtype` (a short name) and `dims` (numbers, or expressions over names)."""

    dtype: str
    dims: tuple[int | str, ...]
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True)
class KeySpec:
    """An array of random keys: `kind` is one of `KEY_KINDS`."""

    kind: str
    dims: tuple[int | str, ...]
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"key<{self.kind}>[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True)
class FileSpec:
    """An array in a file; `member` names one array of an .npz, None means a dict of all."""

    path: str
    member: str | None
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"@{self.path!r}" + (f"[{self.member}]" if self.member is not None else "")


@dataclass(frozen=True)
class ArgumentSpec:
    """One argument as the user wrote it; positional if `name` is None.

    `value` is an `ArraySpec`, `KeySpec` or `FileSpec`, a Python number, string, bool or None, or
    a dict, list or tuple of such.
    """

    name: str | None
    value: Any
    text: str = field(compare=False)
    position: int = field(default=1, compare=False)

    def error(self, column: int, problem: str) -> SpecError:
        """A `SpecError` about `column` (from 1) of this argument."""
        start = max(column - 1 - _SHOWN // 2, 0) if len(self.text) > _SHOWN else 0
        caret = " " * (column - 1 - start) + "^"
        where = f"argument {self.position}, column {column}"
        return SpecError(
            f"{where}: {problem}\n    {self.text[start : start + _SHOWN]}\n    {caret}"
        )


def parse_argument(text: str, position: int = 1) -> ArgumentSpec:
    """Parse one argument.

    Args:
        text: the user's text.
        position: the number of the argument, from 1, for messages.

    Raises:
        SpecError: the text is malformed.
    """
    parser = _Parser(text, position)
    named = parser.match(_NAME_EQUALS)
    value = parser.value()
    parser.end()
    return ArgumentSpec(named[1] if named else None, value, text, position)


_NAME_EQUALS = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)\b")
_INTEGER = re.compile(r"[-+]?\d+")
_TIMES_SHAPE = re.compile(r"((?:\d+x)+)([A-Za-z]\w*)")
_STRING = re.compile(r"""'(\\.|[^'\\])*'|"(\\.|[^"\\])*\"""")
_MEMBER = re.compile(r"[^\]]+")
_PATH = re.compile(r"[^\s,\[\](){}]+")
_CONSTANTS = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
_SHOWN = 120  # characters of an argument in a message
_MOST_DEPTH = 100  # of an argument: far below Python's limit on recursion
_LIKE = "write e.g. f32[8,128]"
_LIKE_KEY = "write e.g. key<fry>[]"
_NEEDS_NAME = "an unknown dimension needs a name; write e.g. f32[b,128]"


_DIM_NODES = (ast.Expression, ast.BinOp, ast.operator, ast.Call, ast.Name, ast.expr_context)


def _is_expression(dim: str) -> bool:
    """Whether a dimension is arithmetic over names that JAX accepts: `2*b`, `floordiv(b, 2)`."""
    try:
        nodes = list(ast.walk(ast.parse(dim, mode="eval")))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(isinstance(node, ast.Name) for node in nodes) and all(
        isinstance(node, _DIM_NODES) or type(getattr(node, "value", None)) is int for node in nodes
    )


class _Parser:
    """A recursive-descent parser of one argument; `offset` is where the next token begins."""

    def __init__(self, text: str, position: int) -> None:
        self.text, self.position, self.offset, self.depth = text, position, 0, 0

    # Tokens

    def skip_space(self) -> None:
        while self.offset < len(self.text) and self.text[self.offset].isspace():
            self.offset += 1

    def peek(self) -> str:
        """The next character that is not a space, or an empty string at the end."""
        self.skip_space()
        return self.text[self.offset : self.offset + 1]

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.offset)
        self.offset = found.end() if found else self.offset
        return found

    def accept(self, token: str) -> bool:
        self.skip_space()
        found = self.text.startswith(token, self.offset)
        self.offset += len(token) * found
        return found

    def expect(self, token: str, after: str, like: str = _LIKE) -> None:
        if not self.accept(token):
            self.fail(f"expected '{token}' after {after}, found {self.found()}; {like}")

    def found(self) -> str:
        word = re.compile(r"\s*([\w.]+|.)?").match(self.text, self.offset)
        return f"'{word[1]}'" if word and word[1] else "the end"

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        self.skip_space()
        column = (self.offset if at is None else at) + 1
        raise ArgumentSpec(None, None, self.text, self.position).error(column, problem)

    def end(self) -> None:
        if self.peek() == "{":
            self.fail("expected the end, found a layout; XLA chooses layouts: leave {...} out")
        if self.peek():
            self.fail(f"expected the end of the argument, found {self.found()}")

    # Values

    def value(self) -> Any:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self.fail(f"expected at most {_MOST_DEPTH} levels of nesting, found more")
        found = self.value_here()
        self.depth -= 1
        return found

    def value_here(self) -> Any:
        match self.peek():
            case "{":
                return self.dictionary()
            case "[":
                self.accept("[")
                return self.items(self.value, "]")
            case "(":
                self.accept("(")
                values = self.items(self.value, ")")
                has_comma = self.text[: self.offset - 1].rstrip().endswith(",")
                return values[0] if len(values) == 1 and not has_comma else tuple(values)
            case "@":
                return self.file()
            case "'" | '"':
                return self.string()
            case "?":
                self.fail(_NEEDS_NAME)
        if found := self.match(_TIMES_SHAPE):
            return self.times_array(found)
        if found := self.match(_NUMBER):
            if self.text[self.offset : self.offset + 1].isalnum():
                rest = self.text[found.start() :]
                self.fail(f"expected an array, found '{rest}'; {_LIKE}", found.start())
            is_whole = _INTEGER.fullmatch(found[0])
            return self.any_integer(found[0], found.start()) if is_whole else float(found[0])
        if found := self.match(_WORD):
            return self.word(found[0], found.start())
        return self.fail(f"expected an array, found {self.found()}; {_LIKE}")

    def word(self, word: str, start: int) -> Any:
        if word in _CONSTANTS and self.peek() != "[":
            return _CONSTANTS[word]
        if word == "tensor" and self.accept("<"):
            return self.tensor()
        if word == "key":
            return self.key(start)
        dtype = self.dtype(word, start)
        if self.peek() != "[":
            self.fail(f"expected '[' after '{word}', found {self.found()}; a scalar is {word}[]")
        return ArraySpec(dtype, self.dims(word), start + 1)

    def dtype(self, name: str, start: int) -> str:
        if short := canonical_dtype(name):
            return short
        if canonical_dtype(name.rpartition("x")[2]):
            hint = "; a dimension with a name goes in brackets: f32[b,128]"
        else:
            offer = did_you_mean(name.lower(), known_dtypes())
            hint = offer.replace(" Did", "; did") or f"; {_LIKE}"
        return self.fail(f"expected a dtype, found '{name}'{hint}", start)

    def times_array(self, found: re.Match[str]) -> ArraySpec:
        dims = tuple(self.integer(dim, found.start()) for dim in found[1].split("x")[:-1])
        return ArraySpec(self.dtype(found[2], found.start(2)), dims, found.start() + 1)

    def tensor(self) -> ArraySpec:
        self.skip_space()
        start = self.offset
        if found := self.match(_TIMES_SHAPE):
            array = self.times_array(found)
        elif found := self.match(_WORD):
            array = ArraySpec(self.dtype(found[0], start), (), start + 1)
        else:
            self.fail(f"expected tensor<8x128xf32>, found {self.found()}; {_LIKE}")
        self.expect(">", "the dtype")
        return array

    def key(self, start: int) -> KeySpec:
        self.expect("<", "'key'", _LIKE_KEY)
        self.skip_space()
        found = self.match(_WORD)
        kind = found[0] if found else ""
        kind = next((short for short, name in KEY_KINDS.items() if kind == name), kind)
        if kind not in KEY_KINDS:
            kinds = ", ".join(KEY_KINDS)
            self.fail(f"expected a kind of key, one of {kinds}; {_LIKE_KEY}", self.offset)
        self.expect(">", "the key's kind", _LIKE_KEY)
        return KeySpec(kind, self.dims(f"key<{kind}>"), start + 1)

    # Dimensions

    def dims(self, what: str) -> tuple[int | str, ...]:
        self.expect("[", f"'{what}'")
        return tuple(self.items(self.dim, "]", hint=f"; {_LIKE}"))

    def dim(self) -> int | str:
        self.skip_space()
        start, depth = self.offset, 0
        while (char := self.text[self.offset : self.offset + 1]) and (depth or char not in ",]"):
            depth += {"(": 1, ")": -1}.get(char, 0)
            self.offset += 1
        text = self.text[start : self.offset].strip()
        if text.isdecimal():
            return self.integer(text, start)
        if text == "?":
            self.fail(_NEEDS_NAME, start)
        if not _is_expression(text):
            found = f"'{text:.80}'" if text else self.found()
            self.fail(f"expected a dimension, found {found}; {_LIKE}", start)
        return text

    # Trees

    def items(self, item: Callable[[], Any], closing: str, hint: str = "") -> list[Any]:
        found: list[Any] = []
        while not self.accept(closing):
            found.append(item())
            if not self.accept(",") and self.peek() != closing:
                self.fail(f"expected ',' or '{closing}', found {self.found()}{hint}")
        return found

    def dictionary(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}

        def entry() -> None:
            self.skip_space()
            start = self.offset
            name = self.dict_key()
            if name in found:
                self.fail(f"the key {name!r} is given twice", start)
            self.expect(":", f"the key {name!r}")
            found[name] = self.value()

        self.accept("{")
        self.items(entry, "}")
        return found

    def dict_key(self) -> str | int:
        if found := self.match(_STRING):
            return str(ast.literal_eval(found[0]))
        if found := self.match(_WORD):
            return found[0]
        if found := self.match(_INTEGER):
            return self.any_integer(found[0], found.start())
        return self.fail(f"expected a key, found {self.found()}; write e.g. {{'w': f32[8,128]}}")

    def any_integer(self, text: str, start: int) -> int:
        """A number of as many digits as Python reads."""
        try:
            return int(text)
        except ValueError:
            most = sys.get_int_max_str_digits()
            self.fail(f"expected a number of at most {most} digits, found more", start)

    def integer(self, text: str, start: int) -> int:
        """A number of as many digits as any size has."""
        if len(text.lstrip("+-")) > MOST_DIGITS:
            self.fail(f"expected a number of at most {MOST_DIGITS} digits, found more", start)
        return int(text)

    def string(self) -> str:
        if found := self.match(_STRING):
            return str(ast.literal_eval(found[0]))
        return self.fail("expected a closing quote, found the end")

    def file(self) -> FileSpec:
        start = self.offset
        self.accept("@")
        if self.peek() in ("'", '"'):
            path = self.string()
        elif found := self.match(_PATH):
            path = found[0]
        else:
            self.fail(f"expected a file after '@', found {self.found()}; write e.g. @x.npy")
        member = None
        if path.endswith(".npz") and self.accept("["):
            self.skip_space()
            name = self.match(_MEMBER)
            self.expect("]", "the array's name")
            member = name[0].strip().strip("'\"") if name else None
        return FileSpec(path, member, start + 1)


def describe(value: Any) -> str:
    """The spec of a pytree, with the types of arrays; `parse_argument` reads it back.

    A leaf that no spec describes is shown as the name of its type.
    """
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype"):
        return f"{short_dtype(value.dtype)}[{','.join(map(str, value.shape))}]"
    match value:
        case ArraySpec() | KeySpec() | FileSpec():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{key!r}: {describe(v)}" for key, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(describe, value)) + "]"
        case tuple():
            inner = ", ".join(map(describe, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case None | bool() | int() | float() | complex() | str():
            return repr(value)
    return type(value).__name__
