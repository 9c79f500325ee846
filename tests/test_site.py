"""The markup of docstrings and help texts on the pages that `make docs` builds."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "site"))

import links
import markup
from sphinx.errors import ExtensionError


def as_rst(text, change=markup.docstring_to_rst):
    lines = text.split("\n")
    change(None, *[None] * (change.__code__.co_argcount - 2), lines)
    return "\n".join(lines)


def test_indented_blocks_of_docstrings_are_code():
    text = "Do it.\n\n    f(*args)\n\n    g(**kw)\n\nThen *stop*."
    expected = "Do it.\n\n::\n\n    f(*args)\n\n    g(**kw)\n\nThen \\*stop\\*."
    assert as_rst(text) == expected


def test_sections_of_docstrings_are_not_code():
    text = "Do it.\n\nArgs:\n    x: a | b.\n\nRaises:\n    Error: no."
    assert as_rst(text) == text.replace("|", "\\|")


def test_code_in_docstrings_may_be_followed_by_letters():
    assert as_rst("of `Array`s") == "of `Array`\\ s"


def test_examples_of_help_texts_are_code_and_options_in_sentences_are():
    text = "Run it with --fast.\n\n| jxc run --fast\n| jxc run"
    expected = "Run it with `--fast`.\n\n.. code-block:: text\n\n    jxc run --fast\n    jxc run"
    assert as_rst(text, markup.help_to_rst) == expected


def test_tokens_of_mlir():
    tokens = {text: str(kind) for kind, text in markup.MlirLexer().get_tokens("%0 = a.b : 4xf32")}
    assert tokens["%0"] == "Token.Name.Variable"
    assert tokens["a.b"] == "Token.Name.Function"
    assert tokens["4xf32"] == "Token.Keyword.Type"


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://x.org/a.js"></script>',
        '<link rel="stylesheet" href="https://x.org/a.css">',
        "<style>@font-face { src: url(https://x.org/a.woff) }</style>",
    ],
)
def test_pages_that_load_files_from_elsewhere_are_errors(page, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(page)
    with pytest.raises(ExtensionError, match=r"index\.html: https://x\.org/a"):
        links.check_offline(type("App", (), {"outdir": tmp_path / "site"}), None)


def test_links_to_other_servers_are_listed(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text('<a class="x" href="https://x.org">x</a>')
    links.check_offline(type("App", (), {"outdir": tmp_path / "site"}), None)
    assert (tmp_path / "external_links.txt").read_text() == "https://x.org\n"
