"""`jxc completion`: shells complete verbs, options, passes, rules, targets and files.

Completion runs while a line is typed, so nothing here imports jax or MLIR: the names of passes and
rules are read from the files of jxc.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import resources
from typing import Any, cast

import click
from click.shell_completion import CompletionItem, get_completion_class

COMPLETE_VARIABLE = "_JXC_COMPLETE"

_SHELLS = ("bash", "zsh", "fish")

_Names = dict[str, str]
"""Names that complete a word, each with a line of help."""


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    """Print the script with which SHELL completes commands of jxc.

    \b
    eval "$(jxc completion bash)"                            # in ~/.bashrc
    eval "$(jxc completion zsh)"                             # in ~/.zshrc
    jxc completion fish > ~/.config/fish/completions/jxc.fish

    Verbs, options and their values, passes, rules, targets and files are completed.
    """
    from . import cli

    kind = get_completion_class(shell)
    assert kind is not None  # click has one for each of _SHELLS
    script = kind(cli, {}, "jxc", COMPLETE_VARIABLE).source()
    if shell == "bash":  # which would split gpu:h100 into three words
        script += "\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
    click.echo(script)


def add_completion(command: click.Command) -> click.Command:
    """The command with completion of the values of its options and arguments, by their kind."""
    for parameter in command.params:
        if complete := _completer(parameter):
            cast(Any, parameter).shell_complete = complete
    return command


def _completer(parameter: click.Parameter) -> Callable[..., list[CompletionItem]] | None:
    if isinstance(parameter.type, click.Choice) or getattr(parameter, "is_flag", False):
        return None  # click's own
    metavar = parameter.metavar or ""
    if isinstance(parameter, click.Argument) or metavar.startswith("FILE"):
        return partial(_complete_path, "file")
    if metavar.startswith("DIR"):
        return partial(_complete_path, "dir")
    if parameter.name in _NAMES:
        return partial(_complete_names, _NAMES[parameter.name])
    return None


def _complete_path(kind: str, _ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type=kind)]


_LAST_NAME = re.compile(r"(?P<head>(?:.*[,(])?)(?P<name>[\w.:-]*)", re.DOTALL)


def _complete_names(
    names: Callable[[], _Names], _ctx: click.Context, incomplete: str
) -> list[CompletionItem]:
    """The completions of the last name in a list or a pipeline; none inside of `{options}`."""
    found = _LAST_NAME.fullmatch(incomplete)
    if found is None or incomplete.count("{") > incomplete.count("}"):
        return []
    return [
        CompletionItem(found["head"] + name, help=text)
        for name, text in names().items()
        if name.startswith(found["name"])
    ]


# Names


@cache
def pass_names() -> _Names:
    """The passes of jxc, those of other packages, MLIR's and the levels, with their help."""
    from importlib.metadata import entry_points

    ours = dict(sorted(_own_passes()))
    names = [each.replace("_", "-") for each in entry_points(group="jxc.passes").names]
    others = dict.fromkeys(names, "a pass of another package")
    levels = {f"O{number}": f"level {number}" for number in range(4)}
    return {**ours, **others, **_native_passes(), **levels}


def _own_passes() -> Iterator[tuple[str, str]]:
    """The names of `Library.our_passes()`, and the first lines of their files."""
    for entry in resources.files("jxc.passes").iterdir():
        name = entry.name.removesuffix(".py")
        file = entry / "__init__.py" if entry.is_dir() else entry
        if not name.startswith(("_", ".")) and name.isidentifier() and file.is_file():
            line = file.read_text(encoding="utf-8").partition("\n")[0]
            yield name.replace("_", "-"), line.strip('"')


def _native_passes() -> _Names:
    """`pipeline.native.NATIVE_PASSES`, read without importing the file, which imports MLIR."""
    source = (resources.files("jxc") / "pipeline" / "native.py").read_text(encoding="utf-8")
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="NATIVE_PASSES")], value=value):
                return cast(_Names, ast.literal_eval(value))
    return {}


def rule_names() -> _Names:
    """The rules of jxc's passes."""
    record = json.loads((resources.files("jxc.passes") / "checked.json").read_text("utf-8"))
    return dict.fromkeys(record["rules"], "rule")


def _passes_and_rules() -> _Names:
    return {**pass_names(), **rule_names()}


def _target_names() -> _Names:
    from ..backend.targets import all_offers

    return {offer.name: offer.what for offer in all_offers()}


def _assumptions() -> _Names:
    return {"no-nans": "", "no-infs": "", "no-signed-zeros": ""}


_NAMES: dict[str | None, Callable[[], _Names]] = {
    "passes": _passes_and_rules,
    "help_pass": _passes_and_rules,
    "mlir_print_ir_before": pass_names,
    "mlir_print_ir_after": pass_names,
    "mlir_debug_counter": rule_names,
    "remarks_filter": rule_names,
    "assume": _assumptions,
    "target": _target_names,
    "hardware": _target_names,
}
"""What completes the value of an option, by the name of its parameter."""
