"""The child process that parses modules for the language server: MLIR may crash or never finish."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from jaxlib.mlir import ir

from ...child import serve
from ...errors import JxcError
from ...ir import (
    frames_of,
    make_context,
    path_of,
    read_module,
    walk,
    write_bytecode,
    write_portable,
    write_text,
)
from .parsed import UNKNOWN_DIALECT, ParsedModule, ParsedOp, Position, Problem
from .tokens import without_locations

_CURRENT_OPERATION = "see current operation"  # a note that repeats the op, which the editor shows
_UNREGISTERED = re.compile(r"(.*?)\. If this is intended, please .*", re.DOTALL)
_NOT_FOUND = re.compile(r"Dialect `(.*?)' not found for custom op '(.*?)'")
_GENERIC = "operation being parsed with an unregistered dialect"
_AVAILABLE = "Available dialects"
ALLOW = "--allow-unregistered-dialect"


def main() -> None:
    """Answer requests until the parent closes the pipe.

    A request is the name of one of the functions below and its arguments; the answer is ("done",
    result) or ("failed", message).
    """
    functions = {each.__name__: each for each in (parse, to_text, to_bytecode)}

    def answer(request: tuple[str, tuple[Any, ...]]) -> tuple[str, Any]:
        name, arguments = request
        try:
            return "done", functions[name](*arguments)
        except JxcError as error:
            return "failed", str(error)
        except Exception as error:
            return "failed", f"{type(error).__name__}: {error}"

    serve(answer)


def parse(text: str, allow_unregistered: bool) -> ParsedModule:
    """The ops and the problems of a module's text."""
    text = re.sub(r"\r(?!\n)", "\n", text)  # MLIR does not count these as lines, editors do
    context = make_context(allow_unregistered_dialects=allow_unregistered)
    warnings: list[Problem] = []

    def keep(diagnostic: Any) -> bool:
        warnings.append(_problem(diagnostic))
        return True

    bare = without_locations(text)
    with context, context.attach_diagnostic_handler(keep):
        try:
            module = ir.Module.parse(bare, context)
            original = module if bare == text else ir.Module.parse(text, context)
        except ir.MLIRError as error:
            found = [_named(_problem(each), text) for each in error.error_diagnostics]
            return ParsedModule(problems=(*warnings, *found))
        except (ValueError, MemoryError) as error:  # a dimension number beyond 32 bits, say
            return ParsedModule(problems=(Problem(None, "error", str(error)),))
        return _described(module, original, tuple(warnings))


def _described(
    module: ir.Module, original: ir.Module, problems: tuple[Problem, ...]
) -> ParsedModule:
    """The ops of `module`, with the locations that they have in `original`."""
    ops: dict[Position, ParsedOp] = {}
    arguments: dict[Position, tuple[str, str]] = {}
    classes: dict[str, type] = {}
    for op, same in zip(_all(module), _all(original), strict=True):
        if position := _position(op.location):
            operation, location = op.operation, same.location
            classes[operation.name] = type(op)
            is_original = isinstance(location, ir.FileLineColLoc) and location.filename == "-"
            ops[position] = ParsedOp(
                operation.name,
                tuple(str(each.type) for each in operation.results),
                "" if is_original else path_of(location),
                () if is_original else tuple(frames_of(location)),
            )
        for argument, same_argument in zip(_arguments(op), _arguments(same), strict=True):
            if position := _position(argument.location):
                location = same_argument.location
                name = location.name_str if isinstance(location, ir.NameLoc) else ""
                arguments[position] = str(argument.type), name
    summaries = {name: _summary(cls) for name, cls in classes.items()}
    return ParsedModule(ops, arguments, problems, summaries)


def _summary(cls: type) -> str:
    """The first paragraph of an op's documentation, in one line."""
    is_general = cls in (ir.OpView, ir.Operation)  # of an op without a class of its own
    text = "" if is_general else inspect.cleandoc(cls.__doc__ or "")
    return " ".join(text.split("\n\n")[0].split())


def _all(module: ir.Module) -> Iterator[ir.Operation | ir.OpView]:
    return chain([module.operation], walk(module.operation))


def _arguments(op: ir.Operation | ir.OpView) -> Iterator[ir.Value]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


def _position(location: ir.Location) -> Position | None:
    """The line and column in the parsed text, which MLIR names "-"."""
    found = re.search(r'"-":(\d+):(\d+)', str(location))
    return (int(found[1]), int(found[2])) if found and found[1] != "0" else None


def _problem(diagnostic: Any) -> Problem:
    severity = str(diagnostic.severity).rpartition(".")[2].lower()
    message, position = str(diagnostic.message), _position(diagnostic.location)
    notes = [(_position(each.location), str(each.message)) for each in diagnostic.notes]
    kept = [note for note in notes if not note[1].startswith(_CURRENT_OPERATION)]
    if found := _NOT_FOUND.match(message):
        known = next((note for _, note in kept if note.startswith(_AVAILABLE)), "")
        known = known.partition(":")[2].partition(" (* ")[0].replace(" (*)", "").strip()
        message = f"{UNKNOWN_DIALECT} '{found[1]}' of op '{found[2]}'. Known dialects: {known}."
        message += f" `jxc lsp {ALLOW}` accepts others, in generic form."
        kept = [note for note in kept if not note[1].startswith(_AVAILABLE)]
    elif found := _UNREGISTERED.match(message):
        message = f"{found[1]}. `jxc lsp {ALLOW}` accepts it."
    return Problem(position, severity, message, tuple(kept))


def _named(problem: Problem, text: str) -> Problem:
    """A problem with an op in generic form, whose name MLIR leaves out."""
    if not problem.message.startswith(_GENERIC) or problem.position is None:
        return problem
    line, column = problem.position
    before = text.split("\n")[line - 1].encode()[: column - 1].decode(errors="replace")
    name = before.rstrip().rpartition('"')[0].rpartition('"')[2]
    dialect = name.partition(".")[0]
    message = (
        f"{UNKNOWN_DIALECT} '{dialect}' of op '{name}'{problem.message.removeprefix(_GENERIC)}"
    )
    return replace(problem, message=message)


# Bytecode


def to_text(data: bytes, name: str) -> str:
    """The text, with locations, of a module in any form that jxc reads."""
    return write_text(read_module(data, make_context(), name=name), debug_info=True)


def to_bytecode(text: str, name: str, version: str | None, allow_unregistered: bool) -> str:
    """The module as bytecode in base64: a portable artifact if `version` is one of StableHLO's."""
    context = make_context(allow_unregistered_dialects=allow_unregistered)
    module = read_module(text, context, name=name)
    data = write_bytecode(module) if version is None else write_portable(module, version)
    return base64.b64encode(data).decode()
