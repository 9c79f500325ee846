"""The answers to requests and notifications of the editor."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.uris import from_fs_path, to_fs_path

from .document import Document
from .hover import hover, python_line
from .parsed import OWN_MESSAGES
from .scopes import Definition, Statement
from .server import SEVERITIES, MlirServer, location_of
from .tokens import SPLIT_MARKER

_PORTABLE = re.compile(rb"StableHLO_v(\d+\.\d+\.\d+)")
_HEAD = 512  # bytes of a bytecode file that show what it is
_KINDS: dict[Any, str] = {severity: kind for kind, severity in SEVERITIES.items()}
_SYMBOL_KINDS = {"module": lsp.SymbolKind.Module, "func": lsp.SymbolKind.Function}


def make_server(version: str, *, allow_unregistered: bool, limit_s: float) -> MlirServer:
    """A server that handles each method of the protocol; see `MlirServer` for the arguments."""
    server = MlirServer(version, allow_unregistered=allow_unregistered, limit_s=limit_s)
    handlers: dict[str, Callable[..., Any]] = {
        lsp.TEXT_DOCUMENT_DID_OPEN: _did_open,
        lsp.TEXT_DOCUMENT_DID_CHANGE: _did_change,
        lsp.TEXT_DOCUMENT_DID_CLOSE: _did_close,
        lsp.SHUTDOWN: _shutdown,
        lsp.TEXT_DOCUMENT_HOVER: _hover,
        lsp.TEXT_DOCUMENT_DEFINITION: _definition,
        lsp.TEXT_DOCUMENT_REFERENCES: _references,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
        lsp.TEXT_DOCUMENT_COMPLETION: _completion,
        lsp.TEXT_DOCUMENT_CODE_ACTION: _code_actions,
        "mlir/convertFromBytecode": _convert_from_bytecode,
        "mlir/convertToBytecode": _convert_to_bytecode,
    }
    for method, handler in handlers.items():
        server.feature(method, _OPTIONS.get(method))(handler)
    return server


_OPTIONS = {lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(trigger_characters=[*"%^@#!"])}


def _did_open(server: MlirServer, params: lsp.DidOpenTextDocumentParams) -> None:
    opened = params.text_document
    server.open(opened.uri, opened.text, opened.version)


def _did_change(server: MlirServer, params: lsp.DidChangeTextDocumentParams) -> None:
    server.change(params)


def _did_close(server: MlirServer, params: lsp.DidCloseTextDocumentParams) -> None:
    server.close(params.text_document.uri)


def _shutdown(server: MlirServer, _params: Any) -> None:
    server.was_shut_down = True


async def _hover(server: MlirServer, params: lsp.HoverParams) -> lsp.Hover | None:
    uri = params.text_document.uri
    await server.parsed(uri)
    position = server.position(params)
    found = await asyncio.to_thread(hover, position, server.folders(uri))
    if found is None:
        return None
    start, end, text = found
    at = location_of(uri, server.document(uri), position.base, start, end)
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), at.range)


async def _definition(server: MlirServer, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """The definition of a name; for an op, the line of Python behind it."""
    uri = params.text_document.uri
    document, position = server.document(uri), server.position(params)
    names = await asyncio.to_thread(lambda: position.module.names)
    if found := names.at(position.offset):
        made = found.definition
        return [location_of(uri, document, position.base, made.start, made.end)]
    statement = names.op_at(position.offset)
    if statement is None:
        return []
    await server.parsed(uri)
    line = python_line(position.module.op_of(statement), server.folders(uri))
    target = from_fs_path(os.path.abspath(line.file)) if line and line.line else None
    if line is None or target is None:
        return []
    at = lsp.Position(line.line - 1, 0)
    return [lsp.Location(target, lsp.Range(at, at))]


async def _references(server: MlirServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    document, position = server.document(uri), server.position(params)
    names = await asyncio.to_thread(lambda: position.module.names)
    found = names.at(position.offset)
    if found is None:
        return []
    made = found.definition
    own = [(made.start, made.end)] if params.context.include_declaration else []
    return [location_of(uri, document, position.base, *each) for each in [*own, *made.uses]]


async def _symbols(
    server: MlirServer, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol]:
    uri = params.text_document.uri
    document = server.document(uri)
    found: list[lsp.DocumentSymbol] = []
    for number, (base, module) in enumerate(document.modules):
        names = await asyncio.to_thread(lambda module=module: module.names)  # type: ignore[misc]
        inside = [each for s in names.statements for each in _symbol(uri, document, base, s)]
        if len(document.modules) > 1 and inside:
            whole = location_of(uri, document, base, 0, len(module.text)).range
            name = f"<split-file-{number}>"
            kind = lsp.SymbolKind.Namespace
            inside = [lsp.DocumentSymbol(name, kind, whole, whole, children=inside)]
        found += inside
    return found


def _symbol(
    uri: str, document: Document, base: int, statement: Statement
) -> list[lsp.DocumentSymbol]:
    """The symbols of an op: its own with those inside it, or its results that have a name."""
    inside = [each for s in statement.children for each in _symbol(uri, document, base, s)]

    def made(name: str, kind: lsp.SymbolKind, definition: Definition | None) -> lsp.DocumentSymbol:
        around = location_of(uri, document, base, statement.start, statement.end).range
        start, end = statement.start, statement.op.end if statement.op else statement.end
        own = (definition.start, definition.end) if definition else (start, end)
        at = location_of(uri, document, base, *own).range
        return lsp.DocumentSymbol(name, kind, around, at, statement.op_name, children=inside)

    kind = _SYMBOL_KINDS.get(statement.short_name, lsp.SymbolKind.Object)
    if statement.symbol:
        return [made(statement.symbol.name, kind, statement.symbol)]
    if statement.short_name == "module":
        return [made(statement.op_name, kind, None)]
    named = [each for each in statement.results if not each.name[1:].isdigit()]
    values = [made(each.name, lsp.SymbolKind.Variable, each) for each in named]
    return values or inside


async def _completion(server: MlirServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    """The names that the character before the cursor may begin."""
    uri = params.text_document.uri
    position = server.position(params)
    names = await asyncio.to_thread(lambda: position.module.names)
    typed = re.search(
        r"([%^@#!])[\w$.-]*$", position.module.text[: position.offset].rpartition("\n")[2]
    )
    if typed is None:
        return lsp.CompletionList(False, [])
    sigil = typed[1]
    kind: Any = {"%": "value", "^": "block", "@": "symbol"}.get(sigil, "alias")
    start, end = position.offset - len(typed[0]), position.offset
    at = location_of(uri, server.document(uri), position.base, start, end).range
    found = [each for each in names.visible(position.offset, kind) if each.name.startswith(sigil)]
    items = [
        lsp.CompletionItem(
            each.name,
            detail=", ".join(position.module.types_of(each)) if kind == "value" else None,
            kind=lsp.CompletionItemKind.Variable,
            text_edit=lsp.TextEdit(at, each.name),
        )
        for each in {each.name: each for each in reversed(found)}.values()
    ]
    return lsp.CompletionList(False, items)


def _code_actions(server: MlirServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """An edit that adds a comment such as `expected-error` above the line of each diagnostic."""
    only, uri = params.context.only, params.text_document.uri
    if only and not any(lsp.CodeActionKind.QuickFix.startswith(kind) for kind in only):
        return []
    lines = server.document(uri).lines
    found = [each for each in params.context.diagnostics if each.source == "mlir"]
    edits = []
    for each in found:
        if each.message.startswith(OWN_MESSAGES):
            continue
        at = lsp.Position(each.range.start.line, 0)
        start = lines.offset(at.line, 0)
        indent = re.match(r"[ \t]*", lines.text[start:])[0]  # type: ignore[index]
        kind = _KINDS.get(each.severity, "error")
        first = each.message.partition("\n")[0]  # a comment has one line, and a part is enough
        text = f"{indent}// expected-{kind} @below {{{{{first}}}}}\n"
        edits.append(lsp.TextEdit(lsp.Range(at, at), text))
    if not edits:
        return []
    title, edit = "Add expected-* diagnostic checks", lsp.WorkspaceEdit({uri: edits})
    return [lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, found, edit=edit)]


# Bytecode, as the extension of VS Code asks for it


async def _convert_from_bytecode(server: MlirServer, params: Any) -> dict[str, str]:
    """The text of a file of bytecode: {"uri": ...} to {"output": ...}."""
    path = _path_of(params.uri)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JsonRpcException(f"{path}: {error.strerror}") from None
    return {"output": await server.ask("to_text", data, path.name)}


async def _convert_to_bytecode(server: MlirServer, params: Any) -> dict[str, str]:
    """The bytecode, in base64, of an open document: {"uri": ...} to {"output": ...}.

    Where the file is a portable artifact, the result is one of the same version of StableHLO.
    """
    document, path = server.document(params.uri), _path_of(params.uri)
    texts = [module.text for _, module in document.modules if not module.is_empty]
    if len(texts) != 1:
        found = f"{path.name} has {len(texts)}"
        raise JsonRpcException(f"{found}; bytecode holds one module: remove '{SPLIT_MARKER}'")
    head = path.read_bytes()[:_HEAD] if path.is_file() else b""
    if head and not head.startswith(b"ML\xefR"):
        raise JsonRpcException(f"{path.name} is no bytecode file; save the text as another file")
    version = _PORTABLE.search(head)
    wanted = version[1].decode() if version else None
    arguments = texts[0], path.name, wanted, server.allows_unregistered
    return {"output": await server.ask("to_bytecode", *arguments)}


def _path_of(uri: str) -> Path:
    """The path of a URI of any scheme: the extension's own is `mlir.bytecode-mlir`."""
    path = to_fs_path(re.sub(r"^[\w.+-]+:", "file:", uri))
    if path is None:
        raise JsonRpcException(f"expected the URI of a file, got {uri!r}")
    return Path(path)
