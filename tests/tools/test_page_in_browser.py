"""The page in headless Chromium, which runs its script and prints the elements afterwards."""

import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.tools.explain.compilations import Compilation
from jxc.tools.explain.page import write_page

from .page_program import texts_of

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="Chromium is not installed: apt-get install chromium"
)

HERE = __file__.rpartition("/")[2]


def wave(x):
    y = jnp.tanh(x)  # TANH
    return jnp.sin(y) * 2  # SINE


def line_of(mark):
    with open(__file__) as file:
        return next(n for n, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    lowered = jxc.lower(wave, jax.ShapeDtypeStruct((8,), jnp.float32))
    texts = texts_of(lowered, "O2", compiled=True)
    seconds = {"trace": 0.2, "lower": 0.1, "passes": 0.1, "compile": 1.0}
    made = [
        Compilation(1, "wave", seconds=seconds, texts=texts, ops=5),
        Compilation(2, "cheap", seconds={"compile": 0.25}, started=2.0),
    ]
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, made, "A page")
    return path


@pytest.fixture(scope="module")
def shown(page, tmp_path_factory):
    """A function from a fragment and a script that acts on the page to the elements afterwards."""

    def show(fragment="", script=""):
        url = f"{page.as_uri()}{fragment}"
        if script:
            acted = page.with_name("acted.html")
            then = f"<script>setTimeout(() => {{ {script} }}, 800)</script></body>"
            acted.write_text(page.read_text().replace("</body>", then))
            url = f"{acted.as_uri()}{fragment}"
        profile = tmp_path_factory.mktemp("profile")
        done = subprocess.run(
            [
                *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
                *("--enable-logging=stderr", "--virtual-time-budget=4000"),
                *("--window-size=1400,900", f"--user-data-dir={profile}", url),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        assert said == [], said  # errors, and violations of the page's security policy
        return re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)

    return show


def panes_of(html):
    """For each pane its title and its highlighted lines as text."""
    found = {}
    for pane in html.split('<section class="pane">')[1:]:
        title = re.search(r'<div class="body"[^>]*aria-label="([^"]*)"', pane)[1]
        rows = re.findall(r'<div class="(l[^"]*)">(.*?)</div>', pane)
        strong = [re.sub(r"<[^>]*>", "", text) for kinds, text in rows if "strong" in kinds.split()]
        found[title] = strong
    return found


def test_page_shows_list_and_timeline_without_a_click(shown):
    html = shown()
    assert html.count('class="bar"') == 2 and html.count("<article") == 2
    assert '<section id="explorer" class="needs-js"' in html
    assert "hidden" in re.search(r'<section id="explorer"[^>]*>', html)[0]


def test_page_highlights_what_comes_from_a_python_line_in_every_pane(shown):
    panes = panes_of(shown(f"#c1:{HERE}:{line_of('TANH')}"))
    source, module, hlo = panes.values()
    assert [line.endswith("# TANH") for line in source] == [True]
    assert len(module) == 1 and "stablehlo.tanh" in module[0]
    assert hlo and all("tanh" in line or "fusion" in line for line in hlo)


def test_page_highlights_the_python_line_of_a_clicked_op_at_a_chosen_stage(shown):
    script = """
      const panes = [...document.querySelectorAll(".pane")];
      const picker = panes[1].querySelector("select");
      picker.value = [...picker.options].find((o) => o.textContent.startsWith("jaxpr")).value;
      picker.dispatchEvent(new Event("change"));
      const rows = [...panes[1].querySelectorAll(".l")];
      const row = rows.find((each) => each.textContent.includes("= sin "));
      const box = row.getBoundingClientRect();
      row.dispatchEvent(new MouseEvent("click",
        { bubbles: true, clientX: box.x + 60, clientY: box.y + 9 }));
    """
    html = shown("#c1", script)
    panes = panes_of(html)
    source = panes.pop(next(title for title in panes if title.endswith(HERE)))
    assert [line.endswith("# SINE") for line in source] == [True]
    assert any("= sin " in line for line in panes["jaxpr"])
    assert any("sine(" in line for line in panes["optimized HLO"])
    assert f"{HERE}:{line_of('SINE')}" in re.search(r'<div id="status".*?</div>', html)[0]


def test_page_filters_the_list_and_says_where_texts_are_missing(shown):
    script = """
      const filter = document.querySelector("#filter");
      filter.value = "chea";
      filter.dispatchEvent(new Event("input"));
      location.hash = "c2";
    """
    html = shown("", script)
    assert ">1 of 2<" in html
    assert "The texts of this compilation were not recorded." in html
