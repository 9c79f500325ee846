"""Links of the built pages to other servers: they are listed; no page loads files by them."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_LOADED = re.compile(r"""(?:src=|url\(|<link[^>]*href=)["']?(https?://[^"')>]+)""")
_LINKED = re.compile(r'<a [^>]*href="(https?://[^"]+)"')


def check_offline(app: Sphinx, error: Exception | None) -> None:
    """Write the links to `external_links.txt` beside the pages.

    Raises:
        ExtensionError: a page or a style sheet loads a file from another server.
    """
    if error:
        return
    loaded: set[str] = set()
    linked: set[str] = set()
    for path in Path(app.outdir).rglob("*"):
        if path.suffix in (".html", ".css"):
            text = path.read_text()
            loaded |= {f"{path.name}: {found}" for found in _LOADED.findall(text)}
            linked |= set(_LINKED.findall(text))
    if loaded:
        raise ExtensionError("expected pages that work offline, found " + ", ".join(sorted(loaded)))
    (Path(app.outdir).parent / "external_links.txt").write_text("\n".join(sorted(linked)) + "\n")
