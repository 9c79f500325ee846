"""The comments of `jxc opt --verify-diagnostics`."""

from jxc.cli.opt.expected import read_expected


def test_only_a_newline_ends_a_line():
    """MLIR counts no other line: not a form feed, nor a line separator of Unicode."""
    text = "// \x0c \u2028\r\n// expected-error@+1 {{here}}\r\nop\n"
    (found,) = read_expected(text, "f.mlir")
    assert (found.line, found.at) == (3, "2:4")
