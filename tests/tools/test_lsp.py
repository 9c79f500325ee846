"""`jxc lsp` over standard input and output, with the client of pygls."""

import base64
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from lsprotocol import types as lsp

from jxc.ir import make_context, read_module, write_bytecode, write_portable

from .lsp_editor import SECONDS, URI, covered, exchange, position_of

CRASHING = Path(__file__).parents[2] / "lit_tests/opt/Inputs/crashes_mlir.mlir"
MODEL = """\
#map = affine_map<(d0) -> (d0)>
!vector = tensor<4xf32>
module @m {
  func.func private @half(%x: !vector) -> !vector {
    %cst = stablehlo.constant dense<5.0e-01> : !vector
    %0 = stablehlo.multiply %x, %cst : !vector
    return %0 : !vector
  }
  func.func public @main(%x: !vector, %n: tensor<i32>) -> (tensor<i32>, !vector) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<4xf32>
     cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @half(%v) : (!vector) -> !vector
      %2 = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<4xf32>
    }
    cf.br ^exit(%0#1 : !vector)
  ^exit(%y: !vector):
    return %0#0, %y : tensor<i32>, !vector
  }
}
"""


def test_diagnostics_of_edits_vanish_with_the_error():
    async def conversation(editor):
        assert await editor.open(MODEL) == []
        at = position_of(MODEL, "stablehlo.add")
        end = lsp.Position(at.line, at.character + len("stablehlo.add"))
        (found,) = await editor.edit(2, ((at, end), "stablehlo.ad"))
        assert "stablehlo.ad" in found.message and found.range.start == at
        end = lsp.Position(at.line, at.character + len("stablehlo.ad"))
        line = lsp.Position(at.line, 0)
        assert await editor.edit(3, ((at, end), "stablehlo.add"), ((line, line), "\n")) == []

    exchange(conversation)


UNITS = {"utf-16": 3, "utf-8": 6, "utf-32": 2}
"""The length of é𝒳 in the units of each encoding."""


@pytest.mark.parametrize("encoding", UNITS)
def test_positions_are_in_the_units_that_the_editor_asks_for(encoding):
    body = "func.func @f() { call @g() : () -> () return }"
    text = f'module attributes {{mhlo.a = "é𝒳", mhlo.b = "é𝒳"}} {{ {body} }}\n'
    shift = 2 * (UNITS[encoding] - UNITS["utf-16"])

    async def conversation(editor):
        (found,) = await editor.open(text)
        at = position_of(text, "call @g")
        assert found.range.start == lsp.Position(0, at.character + shift)
        assert found.range.end == lsp.Position(0, at.character + shift + len("call"))
        assert "'g' does not reference a valid function" in found.message

    exchange(conversation, encodings=[encoding])


def test_lines_end_as_the_protocol_says():
    """A line separator of Unicode and a form feed end no line, and a carriage return does."""
    text = "// \u2028 \x0c\r// \r\nfunc.func @f() {\r  call @g() : () -> () return }"

    async def conversation(editor):
        (found,) = await editor.open(text)
        assert found.range.start == lsp.Position(3, 2)
        at = lsp.Position(3, 2), lsp.Position(3, len("  call @g() : () -> ()"))
        assert await editor.edit(2, (at, "")) == []

    exchange(conversation)


def test_modules_of_a_split_file_are_separate():
    good = "func.func @f(%x: i32) -> i32 { return %x : i32 }\n"
    bad = "// expected-error@+1 {{unknown}}\nunknown.op\n"
    text = f"{good}// -----\n{bad}// -----\n// no module\n// -----\n{good}// -----\n{good}call @f"

    async def conversation(editor):
        first, last = await editor.open(text)
        assert first.range == lsp.Range(lsp.Position(3, 0), lsp.Position(3, len("unknown.op")))
        assert first.message.startswith("unknown dialect 'unknown' of op 'unknown.op'. Known")
        assert "stablehlo" in first.message and "--allow-unregistered-dialect" in first.message
        assert last.range.start.line == 10
        params = lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(URI))
        symbols = await editor.client.text_document_document_symbol_async(params)
        names = [(each.name, [child.name for child in each.children]) for each in symbols]
        assert names == [(f"<split-file-{n}>", ["@f"]) for n in (0, 3, 4)]

    exchange(conversation)


@pytest.mark.parametrize("op", ['"other.op"() : () -> ()', "func.func private @f(!other.t)"])
def test_unregistered_dialects_need_an_option(op):
    async def rejected(editor):
        (found,) = await editor.open(op)
        assert "other" in found.message and "--allow-unregistered-dialect" in found.message

    async def accepted(editor):
        assert await editor.open(op) == []

    exchange(rejected)
    exchange(accepted, "--allow-unregistered-dialect")


def test_a_verifier_error_on_an_op_with_a_location_of_python_is_at_the_op():
    text = (
        'func.func @f(%x: i32) -> i64 {\n  return %x : i32 loc("f.py":70:1)\n} loc("f.py":69:1)\n'
    )

    async def conversation(editor):
        (found,) = await editor.open(text)
        assert found.range.start == lsp.Position(1, 2)
        wrong = text.replace("i64", "i32").replace('"f.py":70:1', "nowhere")
        (found,) = await editor.open(wrong)
        assert covered(wrong, found.range) == "nowhere"

    exchange(conversation)


HOVERS = {
    "%x: !vector) -> !vector": ["%x : tensor<4xf32>", "argument of `func.func`", "1 use"],
    "|%0#1 : !vector": ["%0#1 : tensor<4xf32>\n", "%0:2 = stablehlo.while", "2 uses"],
    "|%i, %i :": ["%i : tensor<i32>", "argument of `stablehlo.while`", "3 uses"],
    "stablehlo.|while": ["`stablehlo.while` `-> tensor<i32>, tensor<4xf32>`"],
    "stablehlo.|add": ["`stablehlo.add` `-> tensor<i32>`", "element-wise addition"],
    "|@half(%v)": ["func.func private @half(%x: !vector) -> !vector", "1 use"],
    "|!vector {": ["!vector = tensor<4xf32>"],
    "|^exit(%0#1": ["^exit(%y: !vector):", "1 use"],
    "|%cst : !vector": ["%cst : tensor<4xf32>", "%cst = stablehlo.constant dense<5.0e-01>"],
}


def test_hover_shows_types_definitions_and_signatures():
    async def conversation(editor):
        assert await editor.open(MODEL) == []
        for needle, parts in HOVERS.items():
            found = await editor.at("hover", MODEL, needle)
            for part in parts:
                assert part in found.contents.value, (needle, found.contents.value)
        assert await editor.at("hover", MODEL, "dense<5") is None

    exchange(conversation)


def test_names_are_known_while_the_text_has_an_error():
    text = MODEL.replace("stablehlo.add %i, %i", "stablehlo.add %i, %")

    async def conversation(editor):
        assert len(await editor.open(text)) == 1
        found = await editor.at("hover", text, "|%cst : !vector")
        assert "%cst = stablehlo.constant" in found.contents.value
        (found,) = await editor.at("definition", text, "|@half(%v)")
        assert covered(text, found.range) == "@half"

    exchange(conversation)


def test_hover_and_definition_lead_to_the_line_of_python(tmp_path):
    file = tmp_path / "program.py"
    source = "import jax.numpy as jnp\n\n\ndef f(x):\n    return jnp.sin(x) + 1\n"
    file.write_text(source)
    exec(compile(source, file, "exec"), names := {})
    text = jax.jit(names["f"]).lower(jnp.ones(4)).as_text(debug_info=True)

    async def conversation(editor):
        assert await editor.open(text) == []
        found = await editor.at("hover", text, "stablehlo.|sine")
        assert f"{file}:5" in found.contents.value
        assert "return jnp.sin(x) + 1" in found.contents.value
        (found,) = await editor.at("definition", text, "stablehlo.|sine")
        assert found.uri == file.as_uri() and found.range.start.line == 4
        found = await editor.at("hover", text, "%arg0")
        assert "`x` in Python" in found.contents.value

    exchange(conversation)


def test_references_stay_within_the_scope_of_a_name():
    context = lsp.ReferenceContext(include_declaration=True)

    async def conversation(editor):
        await editor.open(MODEL)
        for needle, name, lines in [
            ("|%1 : tensor<i1>", "%1", [12, 13]),
            ("|%1 = func.call", "%1", [15, 17]),
            ("%x: !vector, %n", "%x", [8, 10]),
            ("|@half(%x", "@half", [3, 15]),
            ("|%i = %c", "%i", [10, 12, 16, 16]),
            ("^exit(%y", "^exit", [19, 20]),
        ]:
            found = await editor.at("references", MODEL, needle, context=context)
            assert sorted(each.range.start.line for each in found) == lines, needle
            assert {covered(MODEL, each.range).partition("#")[0] for each in found} == {name}
            (made,) = await editor.at("definition", MODEL, needle)
            assert made == found[0]

    exchange(conversation)


def test_document_symbols_are_modules_functions_and_named_values():
    async def conversation(editor):
        await editor.open(MODEL)
        params = lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(URI))
        (module,) = await editor.client.text_document_document_symbol_async(params)
        assert (module.name, module.kind) == ("@m", lsp.SymbolKind.Module)
        names = [(each.name, [child.name for child in each.children]) for each in module.children]
        assert names == [("@half", ["%cst"]), ("@main", ["%c"])]
        assert covered(MODEL, module.children[0].selection_range) == "@half"

    exchange(conversation)


def test_completion_offers_the_names_in_scope():
    text = MODEL.replace("stablehlo.add %i, %i", "stablehlo.add %i, %")

    async def conversation(editor):
        await editor.open(text)
        found = await editor.at("completion", text, "%i, %| :")
        labels = {each.label for each in found.items}
        assert {"%i", "%v", "%c", "%x", "%n"} <= labels and "%cst" not in labels

    exchange(conversation)


def test_server_survives_a_module_that_crashes_mlir():
    crashing = CRASHING.read_text()

    async def conversation(editor):
        first, last = await editor.open(f"{crashing}\n// -----\n{MODEL}\n// -----\nfunc.func @")
        assert "died: SIG" in first.message and first.range.start == lsp.Position(0, 0)
        assert "died" not in last.message
        assert await editor.open(MODEL) == []

    exchange(conversation)


def test_server_ends_mlir_at_the_time_limit():
    lines = "".join(f"  %{n} = arith.addi %x, %x : i32\n" for n in range(20_000))
    slow = f"func.func @f(%x: i32) {{\n{lines}  return\n}}"

    async def conversation(editor):
        (found,) = await editor.open(slow)
        assert "took more than 0.01 s" in found.message
        assert (await editor.at("definition", slow, "%x, %x"))[0].range.start.line == 0

    exchange(conversation, "--time-limit", "0.01")


@pytest.mark.parametrize("form", ["bytecode", "portable"])
def test_bytecode_is_converted_to_text_and_back(form, tmp_path):
    file = tmp_path / "é model.mlirbc"
    write = {"bytecode": write_bytecode, "portable": write_portable}[form]
    plain = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    file.write_bytes(write(read_module(plain, make_context())))
    uri = file.as_uri().replace("file://", "mlir.bytecode-mlir:")  # as VS Code writes it

    async def conversation(editor):
        request = editor.client.protocol.send_request_async
        text = (await request("mlir/convertFromBytecode", {"uri": uri})).output
        assert "@f(%arg0: tensor<4xf32>" in text
        assert await editor.open(text.replace("@f", "@g"), uri) == []
        output = (await request("mlir/convertToBytecode", {"uri": uri})).output
        data = base64.b64decode(output)
        assert data[4:30].startswith(file.read_bytes()[4:30])
        assert "@g" in str(read_module(data, make_context()))
        with pytest.raises(Exception, match="No such file"):
            await request("mlir/convertFromBytecode", {"uri": f"{uri}.gone"})

    exchange(conversation)


def test_code_action_adds_the_checks_of_verify_diagnostics(tmp_path):
    text = "func.func @f(%x: i32) -> i64 {\n  return %x : i32\n}\n// -----\nfunc.func @g( {}\n"

    async def conversation(editor):
        found = await editor.open(text)
        assert len(found) == 2
        identifier = lsp.TextDocumentIdentifier(URI)
        context = lsp.CodeActionContext(found)
        params = lsp.CodeActionParams(identifier, found[0].range, context)
        (action,) = await editor.client.text_document_code_action_async(params)
        lines = text.splitlines(keepends=True)
        for edit in reversed(action.edit.changes[URI]):
            lines.insert(edit.range.start.line, edit.new_text)
        assert lines[1].startswith("  // expected-error @below {{type of return operand 0")
        file = tmp_path / "checked.mlir"
        file.write_text("".join(lines))
        jxc = str(Path(sys.executable).parent / "jxc")
        command = [jxc, "opt", "--verify-diagnostics", "--split-input-file", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr

    exchange(conversation)


def test_code_action_adds_one_line_of_the_kind_of_the_diagnostic():
    at = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1))
    kinds = {
        lsp.DiagnosticSeverity.Error: "error",
        lsp.DiagnosticSeverity.Warning: "warning",
        lsp.DiagnosticSeverity.Information: "remark",
    }

    async def conversation(editor):
        await editor.open("func.func @f() { return }")
        for severity, kind in kinds.items():
            found = lsp.Diagnostic(at, "one\ntwo", severity=severity, source="mlir")
            context = lsp.CodeActionContext([found])
            params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(URI), at, context)
            (action,) = await editor.client.text_document_code_action_async(params)
            (edit,) = action.edit.changes[URI]
            assert edit.new_text == f"// expected-{kind} @below {{{{one}}}}\n"

    exchange(conversation)
