"""`%%jxc`: a cell of a notebook runs under a pipeline, or is recorded, and the log is shown.

The code of the cell runs in the user's namespace, as IPython runs it: magics in it work, the value
of a last expression is shown, and an error leaves the magic as it was raised.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple


class _Argument(NamedTuple):
    """The arguments of a call of `argparse`'s `add_argument`."""

    names: tuple[str, ...]
    settings: dict[str, Any]


_ARGUMENTS = (
    _Argument(
        ("action",),
        {
            "nargs": "?",
            "choices": ("rewrite", "explain", "doctor"),
            "default": "rewrite",
            "help": "rewrite (the default): run the cell under a pipeline, and show what each rule "
            "rewrote. explain: show what JAX compiled, and why again. doctor: show avoidable costs "
            "of the functions that the cell compiles.",
        },
    ),
    _Argument(
        ("--level", "-l", "--passes", "-p"),
        {"default": "O2", "help": "A level or a pipeline: O2 (the default), 'simplify,cse'."},
    ),
    _Argument(("-O",), {"dest": "number", "help": "The same for a level, as in `jxc opt`: -O2."}),
    _Argument(("--strict",), {"action": "store_true", "help": "Raise an error if a pass fails."}),
    _Argument(
        ("--target",), {"default": "cpu", "help": "The hardware that doctor assumes: tpu:v5e:2x2."}
    ),
)


def load_ipython_extension(shell: Any) -> None:
    """Add `%%jxc` to an IPython shell; `%load_ext jxc` calls this.

    Args:
        shell: the `InteractiveShell`.
    """
    shell.register_magic_function(_magic_of(shell), magic_kind="cell", magic_name="jxc")


def unload_ipython_extension(shell: Any) -> None:
    """Remove `%%jxc` from an IPython shell; `%unload_ext jxc` calls this.

    Args:
        shell: the `InteractiveShell`.
    """
    shell.magics_manager.magics["cell"].pop("jxc", None)


def _magic_of(shell: Any) -> Any:
    from IPython.core.error import UsageError
    from IPython.core.magic import output_can_be_silenced
    from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

    from ..errors import JxcError

    def jxc(line: str, cell: str) -> Any:
        """Run a cell under jxc, and show what was rewritten, compiled or found."""
        # The traceback of an error in the cell has no frames of the magic.
        __tracebackhide__ = "__ipython_bottom__"
        given = parse_argstring(jxc, line)
        try:
            block = _block(given)
        except JxcError as error:
            raise UsageError(str(error)) from None
        with block:
            return _run(shell, cell)

    decorated: Any = jxc
    for option in reversed(_ARGUMENTS):
        decorated = argument(*option.names, **option.settings)(decorated)
    # A semicolon at the end of the cell hides its value.
    return output_can_be_silenced(magic_arguments()(decorated))


def _block(given: Any) -> contextlib.AbstractContextManager[None]:
    """The block to run a cell in; the imports of jax are here, so that `%load_ext` is fast."""
    if given.action == "doctor":
        return _examined(given.target)
    if given.action == "explain":
        from ..tools.explain.log import explain

        return _shown(explain())
    from ..backend.hook import use

    pipeline = given.level.strip("'\"") if given.number is None else f"O{given.number}"
    return _shown(use(pipeline, strict=given.strict))


def _run(shell: Any, cell: str) -> Any:
    """The value of the last expression; None if the cell ends in a statement."""
    __tracebackhide__ = "__ipython_bottom__"
    code = shell.transform_cell(cell)
    number = len(shell.user_ns.get("In", ())) - 1  # of the cell with the magic
    file = shell.compile.cache(code, number, raw_code=cell)
    tree = shell.compile.ast_parse(code, filename=file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, file, "exec"), shell.user_ns)
    if last is None:
        return None
    return eval(shell.compile(ast.Expression(last.value), file, "eval"), shell.user_ns)


@contextlib.contextmanager
def _shown(block: Any) -> Iterator[None]:
    """Run a block, and show its log, also after an error."""
    __tracebackhide__ = "__ipython_bottom__"
    from IPython.display import display

    with block as log:
        try:
            yield
        finally:
            display(log)


@contextlib.contextmanager
def _examined(target: str) -> Iterator[None]:
    __tracebackhide__ = "__ipython_bottom__"
    from IPython.display import display

    from ..backend.targets import find_target
    from .examine import Calls

    find_target(target)  # raises before the cell runs
    with Calls.recorded() as calls:
        yield
    for each in calls.examine(target):
        display(each)
