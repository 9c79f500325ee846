"""A pytest plugin that writes the outcome of each test to a file as it finishes.

`running` loads it into the process that runs a file of JAX's tests. It writes one JSON object a
line, so that the file is complete up to the test that ends the process.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest

_request = json.loads(Path(os.environ["JAX_SUITE_REQUEST"]).read_text())
_log = Path(_request["log"]).open("a", encoding="utf-8")  # noqa: SIM115
_outcomes: dict[str, dict[str, Any]] = {}
_running = ""


def _write(**event: Any) -> None:
    _log.write(json.dumps(event) + "\n")
    _log.flush()


def _shown(text: str) -> str:
    """The first line of a message that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" :-=")]
    vague = ("AssertionError:", "AssertionError")
    return next((line for line in lines if line not in vague), text.strip())[:300]


def pytest_configure() -> None:
    """Record the warnings of jxc, also those that a test catches or ignores."""
    issue = warnings.warn_explicit

    def warn_explicit(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if category.__name__ == "JxcWarning":
            _write(warning=_running, message=_shown(str(message)))
        issue(message, category, *args, **kwargs)

    warnings.warn_explicit = warn_explicit


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the tests that the request names, without those that have an outcome."""
    skip, only, share = set(_request["skip"]), _request["only"], _request["share"]

    def is_chosen(name: str) -> bool:
        wanted = name in only if only is not None else zlib.crc32(name.encode()) % 100 < share
        return wanted and name not in skip

    kept = [item for item in items if is_chosen(item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _write(test="<collection>", outcome="failed", message=_last_error(str(report.longrepr)))


def _last_error(text: str) -> str:
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (lines or [_shown(text)])[-1][:300]


def pytest_runtest_logstart(nodeid: str) -> None:
    global _running
    _running = nodeid
    _outcomes[nodeid] = {"outcome": "passed", "message": "", "seconds": 0.0}
    _write(start=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Join the reports of setup, call, subtests and teardown: a failure of one is the outcome."""
    found = _outcomes[report.nodeid]
    found["seconds"] += report.duration
    if report.failed and found["outcome"] != "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        found.update(outcome="failed", message=_shown(crash.message if crash else str(crash)))
    elif report.skipped and found["outcome"] == "passed":
        found["outcome"] = "skipped"


def pytest_runtest_logfinish(nodeid: str) -> None:
    global _running
    _write(test=nodeid, **_outcomes.pop(nodeid))
    _running = ""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Say whether JXC_PIPELINE took effect, if JAX has compiled anything."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if os.environ.get("JXC_PIPELINE") and bridge is not None and bridge.backends_are_initialized():
        registered = sys.modules.get("jxc.backend.registered")
        if registered is None or not registered.effective_pipeline():
            _write(test="<session>", outcome="failed", message="JXC_PIPELINE had no effect")
    _write(end=True)
