"""What the editor shows at a name or an op: Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ...source import SourceLine, innermost_user_line
from ...units import counted
from .document import DocumentPosition, ModuleText
from .parsed import ParsedOp
from .scopes import Definition, Occurrence, Statement

_LONGEST = 400  # characters of a definition; a constant may have megabytes


def hover(position: DocumentPosition, folders: Iterable[str]) -> tuple[int, int, str] | None:
    """The offsets and the Markdown of what is at a position, or None.

    Args:
        position: where, in a module.
        folders: where relative paths of Python files in locations may begin.
    """
    module = position.module
    if found := module.names.at(position.offset):
        return found.start, found.end, "\n\n".join(_of_name(module, found, folders))
    statement = module.names.op_at(position.offset)
    if statement and statement.op:
        text = "\n\n".join(_of_op(module, statement, folders))
        return statement.op.start, statement.op.end, text
    return None


def _of_name(module: ModuleText, found: Occurrence, folders: Iterable[str]) -> list[str]:
    definition = found.definition
    uses = counted(len(definition.uses), "use")
    match definition.kind:
        case "value":
            return [*_of_value(module, definition, found.number, folders), uses]
        case "block":
            return [_code(_line(module, definition.start)), uses]
        case "alias":
            return [_code(_line(module, definition.start)), uses]
    statement = definition.statement
    return [_code(_header(module, statement)) if statement else definition.name, uses]


def _of_value(
    module: ModuleText, definition: Definition, number: int | None, folders: Iterable[str]
) -> list[str]:
    types = module.types_of(definition, number)
    name = definition.name if number is None else f"{definition.name}#{number}"
    parts = [_code(f"{name} : {', '.join(types)}")] if types else []
    statement = definition.statement
    if not definition.is_result:
        jax_name = module.jax_name_of(definition)
        owner = f" of `{statement.op_name}`" if statement else " of a block"
        parts.append(f"argument{owner}" + (f", `{jax_name}` in Python" if jax_name else ""))
        return parts
    assert statement is not None
    parts.append(_code(_header(module, statement)))
    op = module.op_of(statement)
    return [*parts, *_origin(op, folders)]


def _of_op(module: ModuleText, statement: Statement, folders: Iterable[str]) -> list[str]:
    op = module.op_of(statement)
    name = op.name if op else statement.op_name
    types = f" -> {', '.join(op.types)}" if op and op.types else ""
    parts = [f"`{name}`{types and f' `{types.strip()}`'}"]
    if summary := module.parsed and module.parsed.summaries.get(name):
        parts.append(summary)
    if statement.symbol or statement.has_regions:
        parts.append(_code(_header(module, statement)))
    return [*parts, *_origin(op, folders)]


def _origin(op: ParsedOp | None, folders: Iterable[str]) -> list[str]:
    """The line of Python behind an op, and the name stack that JAX gave it."""
    line = python_line(op, folders)
    parts = [f"`{line}`" + (f"\n```python\n{line.text}\n```" if line.text else "")] if line else []
    return parts + ([f"`{op.path}`"] if op and op.path else [])


def python_line(op: ParsedOp | None, folders: Iterable[str]) -> SourceLine | None:
    """The innermost line of the user's behind an op, else the innermost of a library."""
    if op is None or not op.frames:
        return None
    lines = [SourceLine(_resolved(file, folders), line, fn) for file, line, fn in op.frames]
    return innermost_user_line(reversed(lines)) or lines[0]


def _resolved(file: str, folders: Iterable[str]) -> str:
    """The path of a file below one of the folders, where it exists; else `file`."""
    paths = [os.path.join(folder, file) for folder in folders]
    return next((each for each in paths if os.path.isfile(each)), file)


def _header(module: ModuleText, statement: Statement) -> str:
    end = statement.end if statement.header_end < 0 else statement.header_end
    return module.text[statement.start : end].strip()


def _line(module: ModuleText, offset: int) -> str:
    return module.text[offset:].split("\n", 1)[0].rstrip()


def _code(text: str) -> str:
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + " ..."
    return f"```mlir\n{text}\n```"
