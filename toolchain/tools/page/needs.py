"""The packages that a page is made with, which only pages need."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import MissingTargetError


def jinja2() -> Any:
    """The package jinja2, which fills in the templates.

    Raises:
        MissingTargetError: it is not installed.
    """
    return _package("jinja2")


def pygments() -> Any:
    """The package pygments, which highlights Python.

    Raises:
        MissingTargetError: it is not installed.
    """
    _package("pygments.lexers")
    return _package("pygments")


def require() -> None:
    """See that a page can be made, before a program runs for the sake of one.

    Raises:
        MissingTargetError: a package is not installed; the message says how to get it.
    """
    jinja2()
    pygments()


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingTargetError(
            f"an HTML page needs the packages jinja2 and pygments, and {name.partition('.')[0]} is "
            f"not here ({error}): pip install 'jxc[html]'"
        ) from None
