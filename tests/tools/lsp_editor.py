"""An editor in tests of `jxc lsp`: the client of pygls over standard input and output."""

import asyncio
import contextlib
import sys

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

SECONDS = 90  # for one exchange, on a loaded machine
SERVER = "from jxc.cli.lsp import main; main()"  # what the script jxc-lsp-server runs
URI = "file:///tmp/model.mlir"


class Editor:
    """A client with one server: opens documents, and waits for their diagnostics."""

    def __init__(self):
        self.client = LanguageClient("test", "1")
        self.published = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params):
            self.published.put_nowait(params)

    async def start(self, *options, encodings=None):
        await self.client.start_io(sys.executable, "-c", SERVER, *options)
        general = lsp.GeneralClientCapabilities(position_encodings=encodings)
        capabilities = lsp.ClientCapabilities(general=general)
        return await self.client.initialize_async(lsp.InitializeParams(capabilities))

    async def open(self, text, uri=URI):
        item = lsp.TextDocumentItem(uri, "mlir", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.diagnostics()

    async def edit(self, version, *changes):
        document = lsp.VersionedTextDocumentIdentifier(version, URI)
        parts = [lsp.TextDocumentContentChangePartial(lsp.Range(*at), new) for at, new in changes]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, parts))
        return await self.diagnostics()

    async def diagnostics(self):
        return list((await self.published.get()).diagnostics)

    async def at(self, method, text, needle, **more):
        """The answer to a request at the first character of `needle`, which "|" may move."""
        kind, identifier = METHODS[method], lsp.TextDocumentIdentifier(URI)
        request = getattr(self.client, f"text_document_{method}_async")
        position = position_of(text, needle)
        return await request(kind(text_document=identifier, position=position, **more))


METHODS = {
    "hover": lsp.HoverParams,
    "definition": lsp.DefinitionParams,
    "references": lsp.ReferenceParams,
    "completion": lsp.CompletionParams,
}


def position_of(text, needle):
    before = text[: text.index(needle.replace("|", "")) + max(needle.find("|"), 0)]
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def covered(text, found):
    """The text in a range of UTF-16 units."""
    lines = text.encode("utf-16-le").split("\n".encode("utf-16-le"))
    assert found.start.line == found.end.line
    line = lines[found.start.line]
    return line[2 * found.start.character : 2 * found.end.character].decode("utf-16-le")


def exchange(conversation, *options, **settings):
    """Run a conversation with a server, which must end with exit code 0."""

    async def run():
        editor = Editor()
        await editor.start(*options, **settings)
        try:
            await conversation(editor)
        finally:
            with contextlib.suppress(Exception):
                await editor.client.shutdown_async(None)
            editor.client.exit(None)
            code = await editor.client._server.wait()
        assert code == 0
        await editor.client.stop()

    asyncio.run(asyncio.wait_for(run(), SECONDS))
