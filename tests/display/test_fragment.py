"""The HTML of results in notebooks: escaping, bounds, and a style that stays in its fragment."""

import re
from html.parser import HTMLParser
from pathlib import Path

import jax.numpy as jnp
import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

import jxc
from jxc.display.console import HtmlConsole
from jxc.display.fragment import MAX_BYTES, MAX_ROWS, code, escaped, fragment, table
from jxc.display.syntax import highlighted

STYLE = Path(jxc.__file__).parent / "display" / "fragment.css"
VOID = ("br", "hr", "img", "meta", "link", "input")


class Reader(HTMLParser):
    """Collects the text, and fails where tags do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], "", set()

    def handle_starttag(self, tag, attrs):
        assert tag not in VOID
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} " if self.open[-1] != "style" else ""


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def test_every_selector_of_the_style_is_inside_the_fragment():
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", STYLE.read_text())
    selectors = [each.strip() for rule in rules for each in re.split(r",(?![^(]*\))", rule)]
    assert len(selectors) > 20
    assert [each for each in selectors if ".jxc-html" not in each] == []


def test_colours_of_the_style_have_a_dark_value():
    light, dark = (
        set(re.findall(r"(--jxc-\w+):", block))
        for block in re.findall(r"\{([^{}]*--jxc-muted:[^{}]*)\}", STYLE.read_text())
    )
    assert light == dark
    assert set(re.findall(r"var\((--jxc-\w+)\)", STYLE.read_text())) <= light


def test_lowered_shows_its_name_and_its_code():
    def step(x):
        return jnp.sin(x) * 2

    low = jxc.lower(step, "f32[8]").opt("O1")
    found = read(low._repr_html_())
    assert "jit_step" in found.text
    assert "stablehlo.sine" in found.text
    assert not found.tags & {"script", "link", "iframe"}


def test_large_program_is_cut_and_says_so():
    def chain(x):
        for n in range(3000):
            x = jnp.sin(x) + n
        return x

    low = jxc.lower(chain, "f32[8]")
    assert len(low.as_text().splitlines()) > 9000
    html = low._repr_html_()
    assert len(html) < 200_000
    assert re.search(
        r"300 of 1\d,\d\d\d lines are shown: print\(low.as_text\(\)\)", read(html).text
    )


def test_large_constants_are_left_out():
    table = jnp.arange(1_000_000, dtype=jnp.float32).reshape(1000, 1000)
    html = jxc.lower(lambda x: x @ table, "f32[4,1000]")._repr_html_()
    assert len(html) < 20_000


def test_names_of_users_are_escaped():
    def step(x):
        return x + 1

    step.__name__ = "<img src=x onerror=alert(1)>"
    html = jxc.lower(step, "f32[8]")._repr_html_()
    assert "<img" not in html
    assert read(fragment("<b>", ["<i>&"], [table(("<a>",), [("<script>",)])])).text.startswith(
        "<b>   <i>&"
    )


def test_parts_beyond_the_bound_are_left_out():
    html = fragment("title", (), ["x" * (MAX_BYTES - 10), "y" * 100, "z" * 100])
    assert "yyy" not in html
    assert "2 parts are left out" in html


def test_rows_and_long_texts_beyond_the_bound_are_left_out():
    html = table(("n",), [(str(n),) for n in range(MAX_ROWS + 7)])
    assert html.count("<td>") == MAX_ROWS
    assert "7 more rows are left out" in html
    assert len(escaped("x" * 10_000_000)) < 1200
    assert len(code("x" * 10_000_000, "hlo", "it")) < 1000


@pytest.mark.parametrize(
    ("language", "line", "token"),
    [
        ("stablehlo", '%0 = stablehlo.add %a, %b : tensor<8xf32> loc("<")', "<i class=v>%0</i>"),
        ("hlo", "ROOT %add = f32[8]{0} add(%a, %b)", "<i class=o>add</i>"),
        ("jaxpr", "b:f32[8] = sin a<b", "<i class=o>sin</i>"),
    ],
)
def test_highlighted_line_keeps_its_text(language, line, token):
    html = highlighted(line, language)
    assert token in html
    assert read(f"<pre>{html}</pre>").text.replace(" ", "") == line.replace(" ", "")


def printed_tables(console):
    rows = Table(box=None, header_style="bold")
    rows.add_column("bytes", justify="right")
    rows.add_column("what")
    rows.add_row("8", Text("yes", "green"))
    rows.add_row("16", Text("an ").append("<op>", "bold"))
    console.print(Text("title", "bold"))
    console.print(rows)


def test_console_makes_tables_of_the_text_that_a_terminal_shows():
    terminal, console = Console(width=80), HtmlConsole()
    printed_tables(console)
    with terminal.capture() as captured:
        printed_tables(terminal)
    html = "".join(console.parts)
    assert read(f"<div>{html}</div>").text.split() == [
        *("title", "bytes", "what", "8", "yes", "16", "an", "<op>")
    ]
    assert set(captured.get().split()) == {"title", "bytes", "what", "8", "yes", "16", "an", "<op>"}
    assert '<td class="jxc-green">yes</td>' in html
    assert '<td class="jxc-right">8</td>' in html
    assert '<p class="jxc-bold">title</p>' in html


def test_every_result_has_html():
    def step(x):
        return jnp.abs(jnp.exp(x))

    low = jxc.lower(step, "f32[8]")
    opt = low.opt()
    with jxc.use("simplify") as rewritten, jxc.explain() as log:
        jxc.jit(step)(jnp.ones(8))
    results = [low, opt, opt.compile(), opt.report, jxc.report(low, "cpu"), rewritten, log]
    results += [jxc.doctor(step, jnp.ones(8)), jxc.verify(step, jnp.ones(8))]
    for result in results:
        found = read(result._repr_html_())
        assert found.text.strip(), result
        assert not found.tags & {"script", "link", "iframe"}
