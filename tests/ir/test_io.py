"""Reading and writing the forms of a module."""

import pytest

from jxc.errors import JxcError
from jxc.ir import ModuleSyntaxError, io, make_context, read_module, write_portable
from jxc.ir.io import check_roundtrip

TEXT = "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


def test_write_portable_keeps_the_module():
    module = read_module(TEXT, make_context())
    before = str(module)
    write_portable(module)
    assert str(module) == before


@pytest.mark.parametrize(
    "data", [b"\n", b"\n\x03abc", b"\n\xff\xff\xff\xff\xff\xff\x01", b"\0\1\2"]
)
def test_read_module_rejects_bytes_that_are_no_hlo_proto(data):
    with pytest.raises(ModuleSyntaxError):
        read_module(data, make_context())


def test_check_roundtrip_accepts_a_module():
    check_roundtrip(read_module(TEXT, make_context()))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (TEXT.replace("4xf32", "8xf32"), r"read back from its bytecode:\n  was .*4xf32.*\n  now"),
        ("func.func @f() {", "cannot be read back from its bytecode: <bytecode>:1:"),
    ],
)
def test_check_roundtrip_reports_a_difference(other, message, monkeypatch):
    monkeypatch.setattr(io, "write_bytecode", lambda module: other.encode())
    with pytest.raises(JxcError, match=message):
        check_roundtrip(read_module(TEXT, make_context()))
