"""`jxc explore` in headless Chromium, driven through edits, passes, rewrites, targets and links."""

import json
import os
import shutil
import threading
import time

import pytest

from jxc.frontend import LowerRequest
from jxc.tools.explore.server import ExploreServer
from jxc.tools.explore.session import Session

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), "")
DRIVER = shutil.which("chromedriver") or ""
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="Chromium or its driver is not installed: apt-get install chromium chromium-driver",
)

WAIT_SECONDS = 60
PROGRAM = """\
import jax.numpy as jnp


def wave(x):
    y = jnp.tanh(x) * 2.0
    return -(-jnp.sin(y)) + 0.0
"""
TANH_LINE, NEGATE_LINE = 5, 6


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("explored") / "wave_of_user.py"


@pytest.fixture(scope="module")
def server(file):
    file.write_text(PROGRAM)
    session = Session(LowerRequest(f"{file}:wave", ("f32[8]",)), WAIT_SECONDS)
    # An uninstalled compiler, whatever this machine has.
    missing = {"name": "tpu:none", "what": "no TPU", "state": "pip install nothing"}
    session.targets.append(missing)
    server = ExploreServer(session)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Thread(target=session.watch, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    session.close()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    from selenium.webdriver.chrome.service import Service

    os.environ["SE_OFFLINE"] = "true"  # never download a driver
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for word in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1280,900"):
        options.add_argument(f"--{word}")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """The page of a server in a browser."""

    def __init__(self, driver, url):
        self.driver, self.url = driver, url

    def __call__(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, fragment):
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}#{fragment}")
        self.settle()

    def wait(self, script):
        """The value of a script once it is true."""
        end = time.monotonic() + WAIT_SECONDS
        while not (value := self(script)):
            assert time.monotonic() < end, script
            time.sleep(0.05)
        return value

    def settle(self):
        """Wait until the page has nothing more to ask for."""
        self.wait(
            "const data = document.documentElement.dataset;"
            "return data.ready === '1' && !('busy' in data)"
        )

    def click(self, query):
        self(f"document.querySelector({json.dumps(query)}).click()")
        self.settle()

    def lines(self, pane, kind=""):
        """The texts of a pane's lines in view, all or those of a kind."""
        query = f".pane:nth-child({pane + 1}) .l{kind} span.t"
        return self(f"return [...document.querySelectorAll('{query}')].map((e) => e.textContent)")

    def title(self, pane):
        return self(f"return document.querySelectorAll('.pane select')[{pane}].value") and self(
            f"const p = document.querySelectorAll('.pane select')[{pane}];"
            "return p.selectedOptions[0].textContent"
        )

    @property
    def fragment(self):
        return self("return decodeURIComponent(location.hash)")


@pytest.fixture
def page(driver, server, file):
    driver.get_log("browser")
    yield Page(driver, server.url)
    assert driver.get_log("browser") == []  # errors, and violations of the security policy
    if file.read_text() != PROGRAM:
        file.write_text(PROGRAM)


def test_edit_appears_and_a_broken_one_keeps_the_last_good_state(page, file):
    page.open("a=O0&panes=py:|a:stablehlo")
    assert any("stablehlo.tanh" in line for line in page.lines(1))
    file.write_text(PROGRAM.replace("jnp.tanh(x)", "jnp.cos(x)"))
    page.wait("return document.querySelector('#panes').textContent.includes('stablehlo.cosine')")
    assert any("jnp.cos" in line for line in page.lines(0))
    page.settle()
    file.write_text(PROGRAM.replace("jnp.tanh(x)", "jnp.tanh(y)"))
    message = page.wait("const e = document.querySelector('#error'); return e.textContent")
    assert "wave_of_user.py:5" in message
    assert any("stablehlo.cosine" in line for line in page.lines(1))
    file.write_text(PROGRAM)
    page.wait("return document.querySelector('#error').hidden")
    page.wait("return document.querySelector('#panes').textContent.includes('stablehlo.tanh')")
    page.settle()


def test_passes_are_switched_off_and_on(page):
    page.open("a=O1&panes=a:last")
    assert not any("negate" in line for line in page.lines(0))
    page.click("#side-a .passes input[value=simplify]")
    assert any("negate" in line for line in page.lines(0))
    assert "a.off=simplify" in page.fragment
    page.driver.back()
    page.wait("return !location.hash.includes('a.off')")
    page.settle()
    page.wait("return !document.querySelector('.pane').textContent.includes('negate')")


def test_rewrites_are_stepped_through_with_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.open("a=O1&a.step=0&panes=a:last")
    assert page.title(0) == "StableHLO"
    slider = page.driver.find_element("css selector", "#step-a")
    output = "return document.querySelector('#side-a output').textContent"
    rules = page(
        "return [...document.querySelectorAll('#side-a .actions b')].map((e) => e.textContent)"
    )
    number = 1 + rules.index("negate-of-negate")
    for _ in range(number):
        slider.send_keys(Keys.ARROW_RIGHT)
    page.wait(f"return location.hash.includes('a.step={number}')")
    page.wait("return document.querySelector('.pane select').textContent.includes('negate-of-')")
    page.settle()
    shown = page(output)
    assert shown.startswith(f"{number} of {len(rules)}: negate-of-negate")
    assert shown.endswith(f" at wave_of_user.py:{NEGATE_LINE}")
    assert page.title(0).startswith(f"after rewrite {number}: negate-of-negate")
    changed = page.lines(0, ".changed") + page.lines(0, ".new")
    assert len(changed) == 1 and "stablehlo.add" in changed[0]  # its operand is no negation now
    page.driver.find_element("css selector", "body").send_keys(",")
    page.wait(f"return location.hash.includes('a.step={number - 1}')")
    page.settle()
    assert any("negate" in line for line in page.lines(0))


def test_two_pipelines_are_compared_side_by_side(page):
    page.open("a=O1&panes=py:|a:last")
    page.click("#compare")
    assert page.title(0).endswith("(A)") and "(B)" in page.title(1)
    assert len([line for line in page.lines(1, ".new") if "negate" in line]) == 2
    assert page.lines(0, ".gone")
    assert "&b=O0&" in page.fragment and "panes=a:last|b:last" in page.fragment
    page.driver.refresh()  # the URL names the state
    page.settle()
    assert len([line for line in page.lines(1, ".new") if "negate" in line]) == 2
    page.click("#compare")
    assert "&b=" not in page.fragment and len(page.lines(0)) > 0


def test_targets_without_compiler_are_disabled_with_the_reason(page):
    page.open("a=O0&panes=a:last")
    option = page.driver.find_element("css selector", "#side-a option[value='tpu:none']")
    assert not option.is_enabled()
    assert option.get_attribute("textContent") == "tpu:none (needs pip install nothing)"
    page.open("a=O0&a.target=tpu:v9&panes=a:last")
    assert "expected one of" in page("return document.querySelector('#error').textContent")


def test_a_python_line_highlights_what_comes_from_it_and_back(page):
    page.open(f"a=O0&panes=py:|a:jaxpr|a:stablehlo|a:hlo&line=wave_of_user.py:{TANH_LINE}")
    assert [line.strip() for line in page.lines(0, ".strong")] == ["y = jnp.tanh(x) * 2.0"]
    assert any("tanh a" in line for line in page.lines(1, ".strong"))
    assert any("stablehlo.tanh" in line for line in page.lines(2, ".strong"))
    assert any("tanh" in line for line in page.lines(3, ".strong"))
    rows = page.driver.find_elements("css selector", ".pane:nth-child(3) .l .t")
    next(row for row in rows if "stablehlo.sine" in row.text).click()
    page.wait(f"return location.hash.includes('line=wave_of_user.py:{NEGATE_LINE}')")
    assert [line.strip() for line in page.lines(0, ".strong")] == ["return -(-jnp.sin(y)) + 0.0"]


def test_graph_of_selected_lines_is_drawn_and_exported(page, server):
    page.open(f"a=O0&panes=py:|a:stablehlo&line=wave_of_user.py:{NEGATE_LINE}")
    page.click("#draw")
    page.wait("return document.querySelector('#graph').open")
    names = page("return [...document.querySelectorAll('.node .name')].map((e) => e.textContent)")
    assert {"sine", "negate", "add"} <= set(names)
    assert len(page("return [...document.querySelectorAll('.edge')].map((e) => 1)")) >= 4
    href = page("return document.querySelector('#graph-file').href")
    made = page(
        "const r = new XMLHttpRequest(); r.open('GET', arguments[0], false); r.send();"
        "return JSON.parse(r.responseText)",
        href,
    )
    assert {node["label"] for node in made["graphs"][0]["nodes"]} == set(names)
    page("document.querySelector('.node[role=button]').dispatchEvent(new Event('click'))")
    assert page("return document.querySelector('#graph').open") is False


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_page_fits_the_window_and_its_controls_have_names(page, size):
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.open("a=O1&b=O0")
        assert page("return document.documentElement.scrollWidth") <= size[0]
        unnamed = page(
            "return [...document.querySelectorAll('input,select,button,summary')].filter((e) =>"
            " !(e.labels && e.labels.length) && !e.getAttribute('aria-label')"
            " && !e.textContent.trim()).map((e) => e.outerHTML)"
        )
        assert unnamed == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
