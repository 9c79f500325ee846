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
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import UsageError, did_you_mean
from ..ir.dtypes import canonical_dtype, known_dtypes

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


@dataclass(frozen=True)
class KeySpec:
    """An array of random keys: `kind` is one of `KEY_KINDS`."""

    kind: str
    dims: tuple[int | str, ...]
    column: int = field(default=1, compare=False)


@dataclass(frozen=True)
class FileSpec:
    """An array in a file; `member` names one array of an .npz, None means a dict of all."""

    path: str
    member: str | None
    column: int = field(default=1, compare=False)


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
        return _error(self.text, self.position, column, problem)


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


def _error(text: str, position: int, column: int, problem: str) -> SpecError:
    caret = " " * (column - 1) + "^"
    return SpecError(f"argument {position}, column {column}: {problem}\n    {text}\n    {caret}")


_NAME_EQUALS = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)\b")
_INTEGER = re.compile(r"[-+]?\d+")
_TIMES_SHAPE = re.compile(r"((?:\d+x)+)([A-Za-z]\w*)")
_STRING = re.compile(r"""'(\\.|[^'\\])*'|"(\\.|[^"\\])*\"""")
_PATH = re.compile(r"[^\s,\[\](){}]+")
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None}
_CONSTANTS["null"] = None
_LIKE = "write e.g. f32[8,128]"


def _dtype_hint(name: str) -> str:
    if canonical_dtype(name.rpartition("x")[2]):
        return "; a dimension with a name goes in brackets: f32[b,128]"
    return did_you_mean(name.lower(), known_dtypes()).replace(" Did", "; did") or f"; {_LIKE}"


_DIM_NODES = (ast.Expression, ast.BinOp, ast.operator, ast.Call, ast.Name, ast.expr_context)


def _is_expression(dim: str) -> bool:
    """Whether a dimension is arithmetic over names that JAX accepts: `2*b`, `floordiv(b, 2)`."""
    try:
        tree = ast.parse(dim, mode="eval")
    except (SyntaxError, ValueError):
        return False
    if not any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return False
    return all(
        isinstance(node, _DIM_NODES) or type(getattr(node, "value", None)) is int
        for node in ast.walk(tree)
    )


class _Parser:
    """A recursive-descent parser of one argument; `offset` is where the next token begins."""

    def __init__(self, text: str, position: int) -> None:
        self.text, self.position, self.offset = text, position, 0

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
        if found:
            self.offset = found.end()
        return found

    def accept(self, token: str) -> bool:
        self.skip_space()
        found = self.text.startswith(token, self.offset)
        if found:
            self.offset += len(token)
        return found

    def expect(self, token: str, after: str) -> None:
        if not self.accept(token):
            self.fail(f"expected '{token}' after {after}, found {self.found()}; {_LIKE}")

    def found(self) -> str:
        word = re.compile(r"\s*([\w.]+|.)?").match(self.text, self.offset)
        return f"'{word[1]}'" if word and word[1] else "the end"

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        self.skip_space()
        column = (self.offset if at is None else at) + 1
        raise _error(self.text, self.position, column, problem)

    def end(self) -> None:
        if self.peek() == "{":
            self.fail("expected the end, found a layout; XLA chooses layouts: leave {...} out")
        if self.peek():
            self.fail(f"expected the end of the argument, found {self.found()}")

    # Values

    def value(self) -> Any:
        first = self.peek()
        if first in _OPENERS and first:
            return _OPENERS[first](self)
        if found := self.match(_TIMES_SHAPE):
            return self.times_array(found)
        if found := self.match(_NUMBER):
            return self.number(found)
        if first == "?":
            self.fail("an unknown dimension needs a name; write e.g. f32[b,128]")
        if found := self.match(_WORD):
            return self.word(found)
        return self.fail(f"expected an array, found {self.found()}; {_LIKE}")

    def number(self, found: re.Match[str]) -> int | float:
        if self.text[self.offset : self.offset + 1].isalnum():
            rest = self.text[found.start() :]
            self.fail(f"expected an array, found '{rest}'; {_LIKE}", found.start())
        return int(found[0]) if _INTEGER.fullmatch(found[0]) else float(found[0])

    def word(self, found: re.Match[str]) -> Any:
        word, start = found[0], found.start()
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
        short = canonical_dtype(name)
        if short is None:
            self.fail(f"expected a dtype, found '{name}'{_dtype_hint(name)}", start)
        return short or ""

    def times_array(self, found: re.Match[str]) -> ArraySpec:
        dims = tuple(int(dim) for dim in found[1].split("x")[:-1])
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
        self.expect("<", "'key'")
        self.skip_space()
        found = self.match(_WORD)
        kind = found[0] if found else ""
        kind = next((short for short, name in KEY_KINDS.items() if kind == name), kind)
        if kind not in KEY_KINDS:
            kinds = ", ".join(KEY_KINDS)
            self.fail(f"expected a kind of key, one of {kinds}; write e.g. key<fry>[]", self.offset)
        self.expect(">", "the key's kind")
        return KeySpec(kind, self.dims(f"key<{kind}>"), start + 1)

    # Dimensions

    def dims(self, what: str) -> tuple[int | str, ...]:
        self.expect("[", f"'{what}'")
        dims: list[int | str] = []
        if self.accept("]"):
            return ()
        while True:
            dims.append(self.dim())
            if self.accept("]"):
                return tuple(dims)
            if not self.accept(","):
                self.fail(f"expected ',' or ']', found {self.found()}; {_LIKE}")

    def dim(self) -> int | str:
        self.skip_space()
        start = self.offset
        text = self.dim_text()
        if text.isdecimal():
            return int(text)
        if text == "?":
            self.fail("an unknown dimension needs a name; write e.g. f32[b,128]", start)
        if not _is_expression(text):
            found = f"'{text}'" if text else self.found()
            self.fail(f"expected a dimension, found {found}; {_LIKE}", start)
        return text

    def dim_text(self) -> str:
        """The text up to the comma or bracket that ends the dimension."""
        start, depth = self.offset, 0
        while self.offset < len(self.text):
            char = self.text[self.offset]
            if depth == 0 and char in ",]":
                break
            depth += {"(": 1, ")": -1}.get(char, 0)
            self.offset += 1
        return self.text[start : self.offset].strip()

    # Trees

    def items(self, close: str, item: Any) -> list[Any]:
        found: list[Any] = []
        while not self.accept(close):
            found.append(item())
            if not self.accept(",") and self.peek() != close:
                self.fail(f"expected ',' or '{close}', found {self.found()}")
        return found

    def read_list(self) -> list[Any]:
        self.accept("[")
        return self.items("]", self.value)

    def read_tuple(self) -> Any:
        self.accept("(")
        values = self.items(")", self.value)
        comma = self.text[: self.offset - 1].rstrip().endswith(",")
        return values[0] if len(values) == 1 and not comma else tuple(values)

    def read_dict(self) -> dict[Any, Any]:
        self.accept("{")
        found: dict[Any, Any] = {}
        self.items("}", lambda: self.entry(found))
        return found

    def entry(self, into: dict[Any, Any]) -> None:
        self.skip_space()
        start = self.offset
        name = self.dict_key()
        if name in into:
            self.fail(f"the key {name!r} is given twice", start)
        self.expect(":", f"the key {name!r}")
        into[name] = self.value()

    def dict_key(self) -> str | int:
        if found := self.match(_STRING):
            return str(ast.literal_eval(found[0]))
        if found := self.match(_WORD):
            return found[0]
        if found := self.match(_INTEGER):
            return int(found[0])
        return self.fail(f"expected a key, found {self.found()}; write e.g. {{'w': f32[8,128]}}")

    def read_string(self) -> str:
        if found := self.match(_STRING):
            return str(ast.literal_eval(found[0]))
        return self.fail("expected a closing quote, found the end")

    def read_file(self) -> FileSpec:
        start = self.offset
        self.accept("@")
        quoted = self.peek() in ("'", '"')
        path = self.match(_PATH) if not quoted else None
        if not quoted and not path:
            self.fail(f"expected a file after '@', found {self.found()}; write e.g. @x.npy")
        name = self.read_string() if quoted else path[0]  # type: ignore[index]
        return FileSpec(name, self.member(name), start + 1)

    def member(self, path: str) -> str | None:
        if not path.endswith(".npz") or not self.accept("["):
            return None
        self.skip_space()
        found = self.match(re.compile(r"[^\]]+"))
        self.expect("]", "the array's name")
        return found[0].strip().strip("'\"") if found else None


_OPENERS = {
    "{": _Parser.read_dict,
    "[": _Parser.read_list,
    "(": _Parser.read_tuple,
    "@": _Parser.read_file,
    "'": _Parser.read_string,
    '"': _Parser.read_string,
}


def format_spec(value: Any) -> str:
    """The text of a spec, such that `parse_argument(format_spec(v)).value == v`."""
    match value:
        case ArraySpec(dtype, dims):
            return f"{dtype}[{','.join(map(str, dims))}]"
        case KeySpec(kind, dims):
            return f"key<{kind}>[{','.join(map(str, dims))}]"
        case FileSpec(path, member):
            return f"@{path!r}" + (f"[{member}]" if member is not None else "")
        case dict():
            return "{" + ", ".join(f"{k!r}: {format_spec(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(format_spec, value)) + "]"
        case tuple():
            inner = ", ".join(map(format_spec, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)
