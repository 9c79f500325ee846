"""The language server: documents, their diagnostics, and the worker that parses them.

Each change of a document makes a new `Document`, whose modules a worker process parses one by one.
Requests about names are answered from the text; those about types wait for the worker for a moment.
`features` answers requests. The worker is ended when a module takes too long, and started again.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from ...child import Child, ChildLost
from ...errors import JxcError
from .document import Document, DocumentPosition, ModuleText
from .parsed import NOT_PARSED, ParsedModule, Position, Problem
from .text import Lines

_PAUSE = 0.15  # seconds after an edit before the text is parsed: until the user stops typing
_PATIENCE = 3.0  # seconds that a request waits for the types

MOST_BYTES = 1 << 30
"""The longest message, in bytes. Editors open no files of such sizes."""

_MOST_HEADER = 1000  # bytes of a line of a header; those of the protocol have less than 100

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}
"""The severities of the protocol, by the kinds of MLIR's diagnostics."""


class _BoundedInput:
    """Standard input, for pygls, which allocates as many bytes as a header promises."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """A line of a header."""
        line = self._stream.readline(_MOST_HEADER)
        if len(line) == _MOST_HEADER:
            raise JxcError(f"expected a header of the protocol, found {line[:40]!r}...")
        return line

    def read(self, size: int) -> bytes:
        """The bytes of a message."""
        if size > MOST_BYTES:
            raise JxcError(
                f"expected messages of at most {MOST_BYTES} bytes, found Content-Length: {size}"
            )
        return self._stream.read(size)


class _Protocol(LanguageServerProtocol):
    """pygls' protocol without its own copy of documents.

    pygls 2.1 changes the ranges in the notification while it updates its copy, and takes the line
    separators of Unicode for ends of lines, which the protocol does not.
    """

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        """Pass an edit to the server."""
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None


class MlirServer(LanguageServer):
    """A language server for MLIR with the dialects of jaxlib.

    Args:
        version: of jxc, for the editor.
        allow_unregistered: accept ops of other dialects.
        limit_s: the most seconds for parsing one module.

    Attributes:
        was_shut_down: whether the editor has sent `shutdown`.
    """

    def __init__(self, version: str, *, allow_unregistered: bool, limit_s: float) -> None:
        super().__init__("jxc-lsp-server", version, protocol_cls=_Protocol)
        self.was_shut_down = False
        self.allows_unregistered = allow_unregistered
        self._child = Child("jxc.tools.lsp.worker", limit_s)
        self._thread = ThreadPoolExecutor(1)  # the child answers one request at a time
        self._documents: dict[str, Document] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def serve(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        """Answer the editor until it closes the connection.

        Raises:
            JxcError: a message is longer than `MOST_BYTES`.
        """
        self.start_io(_BoundedInput(stdin), stdout)  # type: ignore[arg-type]

    # Documents

    def open(self, uri: str, text: str, version: int | None) -> None:
        """Begin with a document."""
        encoding = self.workspace.position_encoding  # of the enumeration, or a text
        unit = str(getattr(encoding, "value", encoding))
        self._set(uri, Document(Lines(text, unit), version), 0)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Apply the edits of a document; errors as `document`."""
        uri = params.text_document.uri
        former = self.document(uri)
        lines = former.lines
        for each in params.content_changes:
            if isinstance(each, lsp.TextDocumentContentChangePartial):
                lines = lines.replaced(_pair(each.range.start), _pair(each.range.end), each.text)
            else:
                lines = Lines(each.text, lines.unit)
        self._set(uri, Document(lines, params.text_document.version, former), _PAUSE)

    def close(self, uri: str) -> None:
        """Forget a document, and clear its diagnostics."""
        self._documents.pop(uri, None)
        self._tasks.pop(uri, None)
        self._publish(uri, [], None)

    def document(self, uri: str) -> Document:
        """The current version of a document.

        Raises:
            JsonRpcException: the editor has not opened it.
        """
        if uri not in self._documents:
            raise JsonRpcException(f"the document {uri} is not open")
        return self._documents[uri]

    def position(self, params: Any) -> DocumentPosition:
        """What is at the position of a request."""
        position = params.position
        return self.document(params.text_document.uri).at(position.line, position.character)

    async def parsed(self, uri: str) -> None:
        """Wait until a document is parsed, but not for long."""
        if task := self._tasks.get(uri):
            await asyncio.wait([task], timeout=_PATIENCE)

    def folders(self, uri: str) -> list[str]:
        """Where relative paths in a document may begin."""
        own = to_fs_path(uri)
        roots = [to_fs_path(each) for each in self.workspace.folders]
        found = [*roots, self.workspace.root_path, os.path.dirname(own) if own else None]
        return [each for each in found if each]

    def _set(self, uri: str, document: Document, pause: float) -> None:
        self._documents[uri] = document
        self._tasks[uri] = asyncio.ensure_future(self._parse(uri, document, pause))

    async def _parse(self, uri: str, document: Document, pause: float) -> None:
        await asyncio.sleep(pause)
        for _, module in document.modules:
            if self._documents.get(uri) is not document:
                return  # edited or closed since
            if module.parsed is None and not module.is_empty:
                module.parsed = await self._ask_for(module)
        found = await asyncio.to_thread(self._diagnostics, uri, document)
        if self._documents.get(uri) is document:
            self._publish(uri, found, document.version)

    async def _ask_for(self, module: ModuleText) -> ParsedModule:
        try:
            answer = await self.ask("parse", module.text, self.allows_unregistered)
            assert isinstance(answer, ParsedModule)
            return answer
        except JsonRpcException as failed:
            text = f"{NOT_PARSED}: {failed}"
            return ParsedModule(problems=(Problem(None, "error", text),))

    async def ask(self, function: str, *arguments: Any) -> Any:
        """The result of a function of the worker.

        Raises:
            JsonRpcException: it failed, crashed, or took too long; the message says which.
        """
        loop = asyncio.get_running_loop()
        try:
            request = (function, arguments)
            status, answer = await loop.run_in_executor(self._thread, self._child.ask, request)
        except ChildLost as lost:
            raise JsonRpcException(f"MLIR {lost}") from None
        if status == "failed":
            raise JsonRpcException(answer)
        return answer

    def end(self) -> None:
        """End the worker, and drop the requests that wait for it."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._child.close()

    # Diagnostics

    def _diagnostics(self, uri: str, document: Document) -> list[lsp.Diagnostic]:
        return [self._diagnostic(uri, document, *each) for each in document.problems()]

    def _publish(self, uri: str, found: list[lsp.Diagnostic], version: int | None) -> None:
        params = lsp.PublishDiagnosticsParams(uri, found, version)
        self.text_document_publish_diagnostics(params)

    def _diagnostic(
        self, uri: str, document: Document, base: int, module: ModuleText, problem: Problem
    ) -> lsp.Diagnostic:
        def location(position: Position | None) -> lsp.Location:
            return location_of(uri, document, base, *module.range_of(position))

        notes = [lsp.DiagnosticRelatedInformation(location(at), m) for at, m in problem.notes]
        return lsp.Diagnostic(
            location(problem.position).range,
            problem.message,
            severity=SEVERITIES.get(problem.severity, lsp.DiagnosticSeverity.Error),
            source="mlir",
            related_information=notes or None,
        )


# Positions


def location_of(uri: str, document: Document, base: int, start: int, end: int) -> lsp.Location:
    """The location of a range of offsets in a module."""
    first, last = (lsp.Position(*document.lines.position(base + at)) for at in (start, end))
    return lsp.Location(uri, lsp.Range(first, last))


def _pair(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character
