"""`jxc explore` without a browser: sessions, variants, and what the server refuses."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import pytest

from jxc.errors import JxcError, UsageError
from jxc.frontend import LowerRequest
from jxc.tools.explore.server import ExploreServer, parse_lines, variants_of
from jxc.tools.explore.session import Session
from jxc.tools.explore.variant import Variant

WAIT_SECONDS = 60

PROGRAM = """\
import jax.numpy as jnp
from explored_helper import scale


def wave(x):
    y = jnp.tanh(scale(x))
    return -(-jnp.sin(y)) + 0.0
"""
HELPER = "def scale(x):\n    return x * 2.0\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    (folder / "explored.py").write_text(PROGRAM)
    (folder / "explored_helper.py").write_text(HELPER)
    return folder


@pytest.fixture(scope="module")
def session(folder):
    request = LowerRequest(f"{folder / 'explored.py'}:wave", ("f32[8]",))
    session = Session(request, WAIT_SECONDS)
    yield session
    session.close()


@pytest.fixture(scope="module")
def server(session):
    server = ExploreServer(session)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def edited(session, file, text):
    """The state after a file was written."""
    file.write_text(text)
    number = session.state.number
    session.refresh()
    assert session.state.number > number
    return session.state


def titles(found, program=0):
    return [stage["title"] for stage in found["unit"]["programs"][program]["stages"]]


def module_of(found, title):
    """The text of a stage that is not stored as a difference."""
    stages = found["unit"]["programs"][0]["stages"]
    return next(stage["text"] for stage in stages if stage["title"] == title)


# Edits


def test_session_lowers_edited_imported_module_again(session, folder):
    version = session.state.version
    state = edited(session, folder / "explored_helper.py", HELPER.replace("2.0", "3.5"))
    assert (state.error, state.version) == ("", version + 1)
    assert "3.5" in module_of(session.show([Variant("O0")]), "StableHLO")
    edited(session, folder / "explored_helper.py", HELPER)


def test_session_keeps_last_good_state_when_an_edit_fails(session, folder):
    file = folder / "explored.py"
    state = edited(session, file, PROGRAM.replace("jnp.sin(y)", "jnp.sin(y"))
    assert "explored.py:7" in state.error and "SyntaxError" in state.error
    found = session.show([Variant("O0")])
    assert found["error"] == state.error
    assert "stablehlo.sine" in module_of(found, "StableHLO")
    assert "jnp</i>" not in found["sources"][0]["html"]  # highlighted text of the last good file
    assert edited(session, file, PROGRAM).error == ""


def test_session_survives_code_that_ends_the_process(session, folder):
    file = folder / "explored.py"
    killed = "import os\n" + PROGRAM.replace("    y =", "    os.abort()\n    y =")
    assert "SIGABRT" in edited(session, file, killed).error
    left = PROGRAM.replace("    y =", "    raise SystemExit(3)\n    y =")
    assert "SystemExit" in edited(session, file, left).error
    assert edited(session, file, PROGRAM).error == ""


def test_watch_sees_a_saved_edit_of_an_imported_module(session, folder):
    watching = threading.Thread(target=session.watch, daemon=True)
    watching.start()
    number = session.state.number
    (folder / "explored_helper.py").write_text(HELPER.replace("2.0", "6.5"))
    state = session.wait(number, WAIT_SECONDS)
    assert state is not None and state.error == ""
    assert "6.5" in module_of(session.show([Variant("O0")]), "StableHLO")


def test_session_refuses_a_function_that_does_not_exist(folder):
    with pytest.raises(JxcError, match="no 'wavy'") as caught:
        Session(LowerRequest(f"{folder / 'explored.py'}:wavy", ("f32[8]",)), WAIT_SECONDS)
    assert caught.value.exit_code == UsageError.exit_code


# Variants


def test_steps_apply_the_first_rewrites_only(session):
    side = session.show([Variant("O1")])["sides"][0]
    rules = [action[1] for action in side["actions"]]
    number = 1 + rules.index("negate-of-negate")
    found = session.show([Variant("O1", step=number)])
    assert titles(found)[-1] == f"after rewrite {number}: negate-of-negate"
    last = found["unit"]["programs"][0]["stages"][-1]
    assert last["hunks"] and sum(hunk[1] for hunk in last["hunks"]) >= 2  # both negations are gone
    assert found["sides"][0]["actions"] == side["actions"]
    assert titles(session.show([Variant("O1", step=0)]))[-1] == "StableHLO"


def test_last_step_is_the_whole_pipeline(session):
    total = session.show([Variant("O1")])["sides"][0]["total"]
    assert session.show([Variant("O1", step=total)]) == session.show([Variant("O1")])


def test_passes_that_are_off_do_not_run(session):
    side = session.show([Variant("O1", off=("simplify",))])["sides"][0]
    assert ["simplify", False] in side["passes"] and ["cse", True] in side["passes"]
    assert not [action for action in side["actions"] if action[0] == "simplify"]
    with pytest.raises(JxcError, match="no pass 'simplyfi'"):
        session.show([Variant("O1", off=("simplyfi",))])


def test_comparison_stores_results_as_differences(session):
    found = session.show([Variant("O1"), Variant("O0")])
    assert [len(titles(found, program)) for program in (0, 1)] == [3, 3]
    first, second = (program["stages"][-1] for program in found["unit"]["programs"])
    assert "text" in first and second["base"] == (0, 2) and second["hunks"]


@pytest.mark.parametrize(
    "pipeline",
    [
        "annotate-sharding{rules=/etc/passwd}",
        "/etc/plan.toml,O2",
        "canonicalize{max-iterations=3}",
        "func.func(cse)",
        "inline{default-pipeline=canonicalize}",
    ],
)
def test_pipelines_reach_no_files(session, pipeline):
    with pytest.raises(JxcError, match="`jxc explore` runs"):
        session.show([Variant(pipeline)])


@pytest.mark.parametrize("target", ["gpu:@/etc/passwd", "tpu:v9", ""])
def test_only_listed_targets_are_accepted(session, target):
    with pytest.raises(JxcError, match="expected one of"):
        session.show([Variant(target=target)])


def test_compile_links_hlo_and_assembly_to_python(session):
    found = session.compile([Variant("O1")])
    assert found["sides"][0]["compiled"]
    stages = {stage["kind"]: stage for stage in found["unit"]["programs"][0]["stages"]}
    linked = {kind: set(stage.get("links", ())) for kind, stage in stages.items()}
    assert len(linked["hlo"]) > 1
    if not found["sides"][0]["note"]:  # a disassembler is installed
        unit = found["unit"]
        stacks = [s for link in linked["asm"] for s in unit["links"][link][1]]
        lines = {unit["frames"][frame][1] for stack in stacks for frame in unit["stacks"][stack]}
        assert 6 in lines or 7 in lines


def test_only_the_explored_files_are_served(session):
    for source in session.show([Variant("O0")])["sources"]:
        assert ("html" in source) == source["name"].endswith(("explored.py", "explored_helper.py"))


# The server


def get(server, path, *more, method="GET", **headers):
    """The status, headers and text of a response."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=WAIT_SECONDS)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in (*headers.items(), *more):
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, response.headers, response.read().decode()


def test_server_serves_the_page_with_a_policy(server):
    status, headers, text = get(server, f"/{server.token}/")
    assert status == 200 and "explored.py:wave f32[8]" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert not [word for word in ("http://", "https://", "style=", "onclick") if word in text]


def test_server_refuses_requests_without_token_or_from_elsewhere(server):
    page = f"/{server.token}/"
    here = f"127.0.0.1:{server.server_port}"
    assert get(server, page, Host=here, Origin=f"http://{here}")[0] == 200
    assert get(server, "/")[0] == 403
    assert get(server, "/show?a=O2")[0] == 403
    assert get(server, f"/{server.token[:-1]}/")[0] == 403
    assert get(server, page, Host=f"evil.example:{server.server_port}")[0] == 403
    assert get(server, page, Origin="http://evil.example")[0] == 403
    assert get(server, page, Origin="null")[0] == 403
    assert get(server, page, **{"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_server_refuses_a_second_header_from_elsewhere(server):
    page, here = f"/{server.token}/", f"127.0.0.1:{server.server_port}"
    for first, second in (("evil.example", here), (here, "evil.example"), (here, here)):
        assert get(server, page, ("Host", second), Host=first)[0] == 403
    origins = {"Origin": f"http://{here}"}
    assert get(server, page, ("Origin", "http://evil.example"), **origins)[0] == 403
    sites = {"Sec-Fetch-Site": "same-origin"}
    assert get(server, page, ("Sec-Fetch-Site", "cross-site"), **sites)[0] == 403


@pytest.mark.parametrize("path", ["http://[", "//[::1", "/%ff\udcff"])
def test_server_refuses_malformed_paths(server, path):
    line = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), WAIT_SECONDS) as connection:
        connection.sendall(line.encode(errors="surrogateescape"))
        assert connection.recv(12) == b"HTTP/1.0 403"


@pytest.mark.parametrize("path", ["explored.py", "../explored.py", "%2e%2e/x", "explore.js.j2"])
def test_server_serves_no_other_file(server, path):
    assert get(server, f"/{server.token}/{path}")[0] == 404


def test_server_answers_get_requests_only(server):
    for method in ("POST", "PUT", "HEAD", "OPTIONS", "FOO"):
        status, headers, _ = get(server, f"/{server.token}/show?a=O2", method=method)
        assert (status, headers["Allow"]) == (405, "GET")
        assert get(server, "/show?a=O2", method=method)[0] == 403
        here = {"Host": "evil.example"}
        assert get(server, f"/{server.token}/show", method=method, **here)[0] == 403


@pytest.mark.parametrize(
    "query",
    [
        "graph?a=O0&lines=1&stage=0/{}",
        "graph?a=O0&lines=1&stage={}/0",
        "graph?a=O0&stage=0/0&lines={}",
        "graph?a=O0&stage=0/0&lines=1-{}",
        "show?a=O0&a.step={}",
        "compile?a=O0&b=O0&b.step={}",
    ],
)
def test_server_refuses_numbers_that_are_no_numbers(server, query):
    for number in ("1" * 5000, "\u00b2", "-1", "1" * 40):
        status, _, text = get(server, f"/{server.token}/{query.format(quote(number))}")
        failure = json.loads(text)["failure"]
        assert status == 200 and "expected" in failure and len(failure) < 200


def test_server_reports_what_is_wrong_with_a_request(server):
    _, _, text = get(server, f"/{server.token}/show?a=O9")
    assert "unknown pass or level 'O9'" in json.loads(text)["failure"]
    _, _, text = get(server, f"/{server.token}/graph?a=O0&stage=0/0&lines=1")
    assert "graphs are drawn of StableHLO" in json.loads(text)["failure"]


def test_url_names_variants():
    values = {"a": "O2", "a.off": "cse,cse.2", "a.step": "3", "b": "O0", "b.target": "tpu:v5e:2x2"}
    first, second = variants_of(values)
    assert first == Variant("O2", ("cse", "cse.2"), 3, "cpu")
    assert second == Variant("O0", (), None, "tpu:v5e:2x2")
    with pytest.raises(UsageError, match="expected a number"):
        variants_of({"a.step": "x"})


def test_parse_lines_reads_ranges():
    assert list(parse_lines("3-5,9")) == [3, 4, 5, 9]
    for text in ("", "3-", "a", "1-99999999999"):
        with pytest.raises(UsageError, match="lines"):
            parse_lines(text)


def test_command_prints_its_url_and_ends_at_an_interrupt(folder):
    command = [sys.executable, "-c", "from jxc.cli import main; main()", "explore"]
    words = ["explored.py:wave", "f32[8]", "--no-browser", "--state", "a=O1&a.step=2"]
    process = subprocess.Popen(
        [*command, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell ignores the signal in background jobs, and Python then leaves it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:") and url.endswith("/#a=O1&a.step=2")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_SECONDS)
        assert (process.returncode, errors.strip()) == (130, "jxc: interrupted")
    finally:
        process.kill()
