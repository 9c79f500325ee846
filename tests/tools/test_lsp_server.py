"""The process of `jxc lsp`: how it starts, what it refuses, and how it ends."""

import subprocess
import sys

import pytest
from lsprotocol import types as lsp

from .lsp_editor import SECONDS, SERVER, URI, exchange


def test_closing_a_document_clears_its_diagnostics():
    async def conversation(editor):
        assert len(await editor.open("unknown.op")) == 1
        closed = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(URI))
        editor.client.text_document_did_close(closed)
        assert await editor.diagnostics() == []
        with pytest.raises(Exception, match="is not open"):
            await editor.at("hover", "%x", "%x")

    exchange(conversation, "--log=verbose", "--stdio")  # as editors may pass


def sent(*bodies, **headers):
    """The exit code, stdout and stderr of a server that is sent messages."""
    data = b"".join(
        f"Content-Length: {headers.get('size', len(body))}\r\n\r\n{body}".encode()
        for body in bodies
    )
    command = [sys.executable, "-c", SERVER]
    done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("size", ["9" * 14, "9" * 5000], ids=["long", "longer"])
def test_server_refuses_a_message_of_a_size_that_no_editor_sends(size):
    code, _, errors = sent("{}", size=size)
    assert code == 1
    assert errors.startswith("jxc: error: expected ") and errors.count("\n") == 1


def test_server_survives_malformed_messages():
    bodies = [
        "[" * 100_000,
        '{"id": 1' + "0" * 5000 + "}",
        "3",
        "{}",
        '{"jsonrpc": "2.0", "id": 3}',
    ]
    code, answers, errors = sent(*bodies, '{"jsonrpc": "2.0", "id": 3, "method": 4}')
    assert code == 1  # no shutdown request
    assert "Traceback" not in errors and "internal error" not in errors
    assert answers.count("Error in server") >= len(bodies) - 1
    assert all(line.startswith("ERROR Unable to ") for line in errors.splitlines())


def test_server_ends_with_its_editor_while_mlir_is_busy():
    """The exit code is 1 where the editor closes the connection without a shutdown request."""
    lines = "".join(f"  %{n} = arith.addi %x, %x : i32\n" for n in range(200_000))

    async def conversation(editor):
        text = f"func.func @f(%x: i32) {{\n{lines}  return\n}}"
        item = lsp.TextDocumentItem(URI, "mlir", 1, text)
        editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    exchange(conversation)
    command = [sys.executable, "-c", SERVER]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_lsp_names_the_extra_to_install():
    blocked = "import importlib.util as u; u.find_spec = lambda name, *_: None; " + SERVER
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 3
    message = "needs the package pygls, which is not installed: pip install 'jxc-compiler[lsp]'"
    assert message in done.stderr
