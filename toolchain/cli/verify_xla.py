"""`jxc verify A --xla-bisect`: the XLA pass that makes plain XLA differ from the interpreter."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output


def run_xla_bisect(before: str, after: str | None, flags: dict[str, Any]) -> None:
    """Compare each function of A on the interpreter with itself through XLA; print who errs."""
    others = {"a second module": after, "--bisect": flags["bisect"]}
    others |= {"a pipeline": flags["passes"] or flags["pass_pipeline"] or flags["level"]}
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"--xla-bisect looks for a pass of XLA's own: drop {given[0]}")
    from ..check.xla_bisect import verify_xla
    from ..ir import make_context, read_module

    module = read_module(read_input(before), make_context(), name=input_name(before))
    verdicts = verify_xla(module, seeds=flags["draws"])
    if flags["as_json"]:
        functions = [verdict.as_object() for verdict in verdicts]
        told = {"schema_version": 1, "functions": functions}
        write_output(json.dumps(told, indent=2) + "\n", "-")
    else:
        for verdict in verdicts:
            click.echo(str(verdict))
    if not all(verdict.report.agrees for verdict in verdicts):
        sys.exit(1)
