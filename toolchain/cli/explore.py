"""`jxc explore`: the program of a function at each stage, as a live page in the browser."""

from __future__ import annotations

import os
import threading
from typing import Any

import click

from ..errors import UsageError
from ..frontend import LowerRequest
from .options import lowering_options, read_options
from .process import stay_on_cpu

_LIMIT_S = 300.0  # of processor time for an import, a pipeline or a compilation on all cores


@click.command(short_help="See a program at each stage, live in the browser.")
@click.argument("target")
@lowering_options
@click.option("-O", "level", type=click.Choice(["0", "1", "2"]), help="Begin with a level.")
@click.option("-p", "--passes", metavar="PIPELINE", help="Begin with a pipeline: 'a,b{k=v}'.")
@click.option(
    "--target", "hardware", default="cpu", show_default=True, help="Begin with this hardware."
)
@click.option("--state", default="", metavar="TEXT", help="Begin with the state of another URL.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Listen on this port of 127.0.0.1."
)
@click.option("--no-browser", is_flag=True, help="Print the URL, and open no browser.")
def explore_command(
    level: str | None,
    passes: str | None,
    hardware: str,
    state: str,
    port: int,
    no_browser: bool,
    **flags: Any,
) -> None:
    """Show the function TARGET, with arguments like the SPECs of `jxc lower`, as a live page.

    \b
    jxc explore model.py:step 'f32[8,784]'
    jxc explore model.py:step 'f32[8,784]' --state 'a=O2&a.step=12&b=O0'

    The page has Python, jaxpr, StableHLO after each pass, optimized HLO and assembly, linked by
    line. Saved edits appear. Passes can be switched off, rewrites stepped through, targets chosen,
    and two pipelines compared; the part of the URL after # names all this, and --state takes it.

    The server listens on 127.0.0.1, and serves only whoever has the URL's token. It reads TARGET's
    file and the modules that it imports from its own folder. Ctrl-C ends it.
    """
    from ..pages import require_packages

    if level and passes is not None:
        raise UsageError("give one of -O and --passes")
    require_packages()
    os.environ.pop("JXC_PIPELINE", None)  # only the pipelines of the page run
    stay_on_cpu()
    from ..tools.explore.server import ExploreServer
    from ..tools.explore.session import Session

    request = read_options(LowerRequest, flags)
    session = Session(request, _LIMIT_S, hardware)
    try:
        server = ExploreServer(session, port)
        threading.Thread(target=session.watch, daemon=True).start()
        url = f"{server.url}#{_fragment(state, level, passes, hardware)}"
        click.echo(url)
        if not no_browser:
            click.launch(url)
        server.serve_forever()
    finally:
        session.close()


def _fragment(state: str, level: str | None, passes: str | None, hardware: str) -> str:
    from urllib.parse import quote

    if state:
        return state.removeprefix("#")
    pipeline = f"O{level or 2}" if passes is None else passes
    return f"a={quote(pipeline)}&a.target={quote(hardware)}"
