"""Reading reproducers, which `jxc.pipeline.reproducer` and MLIR write. Imports no MLIR."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from ...errors import UsageError


@dataclass(frozen=True)
class Recipe:
    """What a reproducer says about the run that failed.

    Attributes:
        pipeline: in MLIR's syntax.
        verify_each: whether the module was verified after each pass.
        load_pass: the values of `--load-pass`.
    """

    pipeline: str
    verify_each: bool = True
    load_pass: tuple[str, ...] = ()


_SECTION = re.compile(r"^\{-#(.*)^#-\}\s*\Z", re.DOTALL | re.MULTILINE)
_PIPELINE = re.compile(r'\bpipeline:\s*"((?:[^"\\]|\\.)*)"')
_NO_VERIFY = re.compile(r"\bverify_each:\s*false")


def read_recipe(data: bytes, name: str) -> Recipe:
    """The pipeline in a reproducer.

    Raises:
        UsageError: the text is not that of a reproducer, or its command is damaged.
    """
    text = data.decode(errors="replace")
    section = _SECTION.search(text)
    found = section and _PIPELINE.search(section[1])
    if not section or not found:
        raise UsageError(
            f"{name}: --run-reproducer expects a file with a section `{{-# external_resources: "
            "{ mlir_reproducer: { pipeline: ... }}} #-}` at its end; it has none"
        )
    command = text.partition("\n")[0].removeprefix("// ")
    try:
        words = shlex.split(command) if command.startswith("jxc opt ") else []
    except ValueError as error:
        raise UsageError(
            f"{name}:1: --run-reproducer expects the command that wrote the file; found "
            f"{command!r}: {str(error).lower()}"
        ) from None
    files = [each.partition("=")[2] for each in words if each.startswith("--load-pass=")]
    pipeline = re.sub(r"\\(.)", r"\1", found[1])
    return Recipe(pipeline, not _NO_VERIFY.search(section[1]), tuple(files))
