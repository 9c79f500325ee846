"""Reading and writing the forms of a module."""

import pytest

from jxc.ir import ModuleSyntaxError, make_context, read_module, write_portable

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
