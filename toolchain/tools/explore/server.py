"""The web server of `jxc explore`, for one browser on this machine.

It listens on 127.0.0.1 only. The first part of each path is a random token, which other users and
other web sites do not know. A request of any method without it, or with a Host or Origin header
that names another server, gets 403: a page of another site could otherwise reach the server under a
name of its own. Among the others, those that are no GET requests get 405. The server reads no file
for them but its own templates, and the page's security policy allows no script, style or connection
from elsewhere.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ...display.syntax import RULES
from ...errors import JxcError, UsageError
from ...files import whole_number
from ...pages import template
from .session import Session
from .variant import Variant

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FOLDER = Path(__file__).parent
_EVENT_SECONDS = 10.0  # between two comments that keep the connection of events alive
MAX_LINES = 5000


class ExploreServer(ThreadingHTTPServer):
    """A server for one session.

    Args:
        session: the state.
        port: to listen on; 0 for any free one.

    Attributes:
        token: the first part of each path.

    Raises:
        UsageError: the port is in use or not allowed.
    """

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise UsageError(
                f"--port {port}: {error.strerror}; without --port a free one is taken"
            ) from None

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The values of the Host header that are allowed."""
        return frozenset(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    @cached_property
    def files(self) -> Mapping[str, tuple[str, str]]:
        """The page, its script and its style: type and text by name."""
        request = self.session.request
        title = " ".join([request.target, *request.specs])
        return {
            "": ("text/html", self._render("explore.html.j2", title=title)),
            "explore.js": ("text/javascript", self._render("explore.js.j2")),
            "explore.css": ("text/css", self._render("explore.css.j2")),
        }

    def _render(self, name: str, **values: Any) -> str:
        text: str = template(name, _FOLDER).render(
            rules=RULES, targets=self.session.targets, **values
        )
        return text


class _Handler(BaseHTTPRequestHandler):
    server: ExploreServer
    server_version, sys_version = "jxc", ""
    timeout = 60  # for the bytes of a request

    def do_GET(self) -> None:
        """Answer a request with the right token, from the right page."""
        token, rest, query = self._parts()
        if not self._is_allowed(token):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "forbidden\n")
        elif rest == "events":
            self._send_events()
        elif rest in self.server.files:
            self._send(HTTPStatus.OK, *self.server.files[rest])
        elif rest in _ANSWERS:
            self._send_json(rest, query)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "no such page\n")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that is malformed, or that has another method than GET."""
        if code != HTTPStatus.NOT_IMPLEMENTED:
            super().send_error(code, message, explain)
        elif self._is_allowed(self._parts()[0]):
            self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", "expected GET\n")
        else:
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "forbidden\n")

    def _parts(self) -> tuple[str, str, str]:
        """The token of the request, the path below it, and the query."""
        path, _, query = self.path.partition("?")
        token, _, rest = path.lstrip("/").partition("/")
        return token, rest, query

    def _is_allowed(self, token: str) -> bool:
        """Whether the token is right and each header that names a server or page names this one."""
        given, expected = token.encode(), self.server.token.encode()
        hosts, origins = self._all("Host"), self._all("Origin")
        is_here = len(hosts) == 1 and hosts[0] in self.server.hosts
        is_own = all(each.removeprefix("http://") in self.server.hosts for each in origins)
        from_page = all(each in ("same-origin", "none") for each in self._all("Sec-Fetch-Site"))
        return secrets.compare_digest(given, expected) and is_here and is_own and from_page

    def _all(self, header: str) -> list[str]:
        return self.headers.get_all(header, [])

    def _send_json(self, name: str, query: str) -> None:
        try:
            values = dict(parse_qsl(query, keep_blank_values=True))
            answer = _ANSWERS[name](self.server.session, values)
        except JxcError as error:
            message = "\n".join([str(error), *getattr(error, "__notes__", ())])
            answer = {"failure": message, **vars(self.server.session.state)}
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        self._send(HTTPStatus.OK, "application/json", text)

    def _send_events(self) -> None:
        """The session's state now and after each change, as server-sent events."""
        self._begin(HTTPStatus.OK, "text/event-stream")
        number = 0
        try:
            while not self.server.session.is_closed:
                state = self.server.session.wait(number, _EVENT_SECONDS)
                text = f"data: {json.dumps(vars(state))}\n\n" if state else ": waiting\n\n"
                number = state.number if state else number
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:  # the page was closed
            return

    def _begin(self, status: HTTPStatus, type_: str, size: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{type_}; charset=utf-8")
        if size is not None:
            self.send_header("Content-Length", str(size))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        for header, value in _HEADERS.items():
            self.send_header(header, value)
        self.end_headers()

    def _send(self, status: HTTPStatus, type_: str, text: str) -> None:
        data = text.encode()
        try:
            self._begin(status, type_, len(data))
            self.wfile.write(data)
        except OSError:  # the browser no longer waits for it
            return

    def log_message(self, format: str, *args: Any) -> None:
        """Print no line for each request: its path has the token."""


# Requests


def _show(session: Session, values: Mapping[str, str]) -> dict[str, Any]:
    return session.show(variants_of(values))


def _compile(session: Session, values: Mapping[str, str]) -> dict[str, Any]:
    return session.compile(variants_of(values))


def _graph(session: Session, values: Mapping[str, str]) -> dict[str, Any]:
    program, _, stage = values.get("stage", "").partition("/")
    if not (_is_number(program) and _is_number(stage)):
        found = values.get("stage", "")[:80]
        raise UsageError(f"stage {found}: expected PROGRAM/STAGE, such as 0/1")
    return session.draw(
        variants_of(values),
        (int(program), int(stage)),
        parse_lines(values.get("lines", "")),
        for_model_explorer=values.get("format") == "model-explorer",
    )


def _is_number(text: str) -> bool:
    return whole_number(text) is not None


_ANSWERS = {"show": _show, "compile": _compile, "graph": _graph}


def variants_of(values: Mapping[str, str]) -> list[Variant]:
    """The variants that a URL names: `a`, `a.off`, `a.step`, `a.target`, and `b` likewise.

    Raises:
        UsageError: a step is not a number.
    """
    first = _variant("a", values, Variant())
    return [first, _variant("b", values, replace(first, step=None))] if "b" in values else [first]


def _variant(side: str, values: Mapping[str, str], default: Variant) -> Variant:
    step = values.get(f"{side}.step", "")
    if step and not _is_number(step):
        raise UsageError(f"{side}.step={step[:80]}: expected a number")
    off = values.get(f"{side}.off", "")
    return Variant(
        values.get(side, default.pipeline),
        tuple(filter(None, off.split(","))),
        int(step) if step else None,
        values.get(f"{side}.target", default.target),
    )


def parse_lines(text: str) -> Sequence[int]:
    """The numbers in a text such as "3-9,12".

    Raises:
        UsageError: the text is malformed, or has more than 5000 numbers.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (_is_number(first) and (_is_number(last) or not dash)):
            raise UsageError(f"lines={text[:80]}: expected numbers such as 3-9,12")
        end = int(last) if dash else int(first)
        found += range(int(first), min(end, int(first) + MAX_LINES) + 1)
        if len(found) > MAX_LINES:
            raise UsageError(f"lines: expected at most {MAX_LINES}: select fewer lines")
    return found
