"""Options of the command line as the fields of dataclasses, and those that several verbs share.

A field made by `option` declares an option, its type and its default once. `options_of` adds the
options of a dataclass to a command, and `read_options` makes an instance of its flags.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from ..files import whole_number
from ..frontend import LowerRequest

if TYPE_CHECKING:
    from ..pipeline import Library, Pipeline
    from ..rewrite import PassContext

_T = TypeVar("_T", bound=Any)


def option(*flags: str, default: Any = None, **settings: Any) -> Any:
    """A field that is also an option, as `click.option` makes it of the same arguments.

    Without `flags` it is spelled as the field. One that may be repeated is () by default, unless a
    callback makes something else of its values.
    """
    if default is not None:
        settings["default"] = default
    elif settings.get("multiple") and "callback" not in settings:
        default = ()
    return dataclasses.field(default=default, metadata={"flags": flags, "settings": settings})


def flag(*flags: str, help: str) -> Any:
    """A field that is also an option without a value; it is False by default."""
    return option(*flags, default=False, is_flag=True, help=help)


def options_of(*classes: type) -> Callable[[Any], Any]:
    """A decorator that adds the options of dataclasses to a command, in this order."""
    declared = [
        click.option(
            *(field.metadata["flags"] or [f"--{field.name.replace('_', '-')}"]),
            field.name,
            **field.metadata["settings"],
        )
        for each in classes
        for field in dataclasses.fields(each)
        if field.metadata
    ]
    return added(*declared)


def added(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that adds click's options to a command, in this order."""

    def add(command: Any) -> Any:
        for each in reversed(options):
            command = each(command)
        return command

    return add


def read_options(cls: type[_T], flags: Mapping[str, Any], **more: Any) -> _T:
    """An instance of a dataclass from the flags of a command that are fields of it."""
    names = {field.name for field in dataclasses.fields(cls)} - more.keys()
    made: _T = cls(**{name: value for name, value in flags.items() if name in names}, **more)
    return made


class _Seconds(click.FloatRange):
    """A time in seconds that the system can wait for."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not seconds <= _MOST_SECONDS:
            self.fail(f"{value} is not in the range x<={_MOST_SECONDS:g}.", param, ctx)
        return seconds


_MOST_SECONDS = 1e9  # 32 years; Python's timers fail beyond nine times as many
SECONDS = _Seconds(min=0, min_open=True)
"""The type of a time limit: a positive number of seconds, not infinite and not NaN."""


class _Rows(click.types.StringParamType):
    """A number of rows; None for all."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "all":
            return None
        rows = whole_number(str(value))
        if not rows:
            self.fail(f"expected a positive number or all, found {value!r}.", param, ctx)
        return rows


ROWS = _Rows()
"""The type of how many rows of a table are printed: a positive number, or all."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


# Arguments to run with


@dataclasses.dataclass(frozen=True)
class InputOptions:
    """The option that chooses the arguments of a program that runs."""

    inputs: str = option(
        "--input",
        default="random",
        show_default=True,
        metavar="random[:SEED]|zeros|@FILE",
        help="The arguments to run it with: random numbers, zeros, or the arrays of an .npz or "
        ".npy file.",
    )


# Text of modules


@dataclasses.dataclass(frozen=True)
class PrintOptions:
    """The options that say how the text of a module is printed."""

    mlir_print_op_generic: bool = flag(help="Print ops in their generic form.")
    mlir_print_debuginfo: bool = flag(help="Print locations.")

    def text_options(self, file: str) -> dict[str, Any]:
        """The keyword arguments of `jxc.ir.write_text` for a module that is read from `file`."""
        return {
            "file_name": file,
            "debug_info": self.mlir_print_debuginfo,
            "generic": self.mlir_print_op_generic,
        }


# Passes


class _Files(click.types.StringParamType):
    """Names of files, which an environment variable separates as a shell does."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        try:
            return shlex.split(rv)
        except ValueError as error:
            raise UsageError(
                f"JXC_LOAD_PASS: expected files, quoted as in a shell; found {rv!r}: "
                f"{str(error).lower()}"
            ) from None


def _only(_context: click.Context, option: click.Parameter, values: Sequence[str]) -> str | None:
    """The value of an option that may be given once, under any of its names.

    Raises:
        UsageError: it is given more often; without `multiple`, click takes the last value.
    """
    if len(values) > 1:
        raise UsageError(f"give one of {', '.join(option.opts)}, once")
    return values[0] if values else None


@dataclasses.dataclass(frozen=True)
class PassOptions:
    """The options that choose passes, their target, and what rules may assume."""

    passes: str | None = option(
        "-p",
        "--passes",
        "--pass-pipeline",
        multiple=True,
        callback=_only,
        metavar="PIPELINE",
        help="Run these passes, rules and levels: 'O1,my-rule,cse{k=v}', or a pipeline in "
        "mlir-opt's syntax.",
    )
    level: str | None = option(
        "-O",
        type=click.Choice(["0", "1", "2", "3"]),
        help="Run the passes of a level; -O3 runs those found fastest (`jxc tune`), else -O2.",
    )
    load_pass: tuple[str, ...] = option(
        multiple=True,
        type=_Files(),
        envvar="JXC_LOAD_PASS",
        show_envvar=True,
        metavar="FILE.py[:NAME]",
        help="Make the rules and passes of a Python file available by name.",
    )
    target: str = option(
        default="cpu",
        show_default=True,
        metavar="NAME[,NAME]...",
        help="The hardware: cpu, gpu:h100, tpu:v5e:2x2; see `jxc targets`.",
    )
    assume: tuple[str, ...] = option(
        multiple=True,
        metavar="PROMISE",
        help="Promise that values have no-nans, no-infs or no-signed-zeros.",
    )

    @property
    def has_pipeline(self) -> bool:
        """Whether a pipeline is named."""
        return self.passes is not None or self.level is not None

    def pipeline_text(self, default: str) -> str:
        """The pipeline that `-p` or `-O` names.

        Raises:
            UsageError: both are given.
        """
        if self.level is None:
            return default if self.passes is None else self.passes
        if self.passes is not None:
            raise UsageError(
                "give one of -O and --passes; a pipeline may contain levels: -p 'O2,annotate-cost'"
            )
        return f"O{self.level}"

    def library(self) -> Library:
        """The passes of jxc and of the files of `--load-pass`."""
        from ..pipeline import Library

        return Library.of_files(self.load_pass)

    def pipeline(self, default: str) -> Pipeline:
        """The parsed pipeline; raises as `pipeline_text` and `make_pipeline`."""
        from ..pipeline import make_pipeline

        return make_pipeline(self.pipeline_text(default), self.library())

    def context(self) -> PassContext:
        """The context of passes for `--target` and `--assume`."""
        from ..rewrite import PassContext, promises

        return PassContext(self.target, promises(self.assume))

    def again(self, spec: str) -> list[str]:
        """The arguments of `jxc` that choose a pipeline and load the same files."""
        return [*(f"--load-pass={file}" for file in self.load_pass), "-p", spec]


# Lowering

lowering_options = added(
    click.argument("specs", nargs=-1, metavar="[SPEC]..."),
    click.option(
        "--args",
        "args_from",
        metavar="FILE.py:FN",
        help="Call FN for the arguments, in place of SPECs: a tuple, or (tuple, dict). With "
        "neither, the function `arguments` in the file of TARGET is called, if there is one.",
    ),
    click.option(
        "--static",
        multiple=True,
        metavar="NAME=VALUE",
        help="Fix an argument while tracing, by name or by position from 0.",
    ),
    click.option(
        "--transform",
        metavar="NEST",
        help="Apply transforms first: jit, grad, value_and_grad, vmap, jvp, vjp, checkpoint, pmap, "
        "jacfwd, jacrev, hessian; e.g. 'vmap(grad(argnums=0), in_axes=(None, 0))'. The SPECs of a "
        "jvp are (primals, tangents), of a vjp (primals, cotangents).",
    ),
    click.option(
        "--mesh",
        metavar="AXIS=SIZE,...",
        help="Lower over a mesh such as data=4,model=2; its devices need not be present.",
    ),
    click.option(
        "--sharding",
        multiple=True,
        metavar="NAME=SPEC|FILE.py:FN",
        help="Shard an argument. x=data,None splits its first dimension over the axis data, "
        "x=data+model over two axes; x= replicates it. NAME is a parameter, a position from 0 or a "
        "path such as \"params['w']\", in which * matches any key; the most specific one counts. "
        "Paths from `result`, such as \"result['loss']\" or result[0], are results: name a "
        "parameter called result by its position. XLA chooses the other shardings. Or call FN on "
        "the mesh for in_shardings, or (in_shardings, out_shardings). With neither arguments nor "
        "shardings, the function `shardings` in the file of TARGET is called.",
    ),
    click.option("--x64", is_flag=True, help="Keep 64-bit types, which JAX narrows otherwise."),
)
"""A decorator: the SPECs and options of lowering a function, the fields of `LowerRequest`."""


def fit_command(
    request: LowerRequest, target: str, max_memory: str | int, passes: PassOptions | None = None
) -> str:
    """The line that finds a plan for the program of a command line, for a shell.

    Args:
        request: the program.
        target: the hardware.
        max_memory: a size as text, or bytes, which are rounded down to MiB.
        passes: those that were named.
    """
    flags = {
        "--args": request.args_from,
        "--static": request.static,
        "--transform": request.transform,
        "--mesh": request.mesh,
        "--sharding": request.sharding,
    }
    words = ["jxc", "fit", request.target, *request.specs]
    for flag_, given in flags.items():
        values = (given,) if isinstance(given, str) else given or ()
        words += [word for value in values for word in (flag_, value)]
    words += ["--x64"] * request.x64
    if passes is not None:
        words += [f"--load-pass={file}" for file in passes.load_pass]
        words += [f"--assume={promise}" for promise in passes.assume]
        words += ["-p", spec] if (spec := passes.pipeline_text("")) else []
    size = max_memory if isinstance(max_memory, str) else f"{max_memory >> 20}MiB"
    return shlex.join([*words, "--target", target, "--max-memory", size, "-o", "plan.toml"])


def given_lowering(request: LowerRequest) -> list[str]:
    """The options of lowering that are given, such as "--args"."""
    others = ("target", "specs", "concrete")  # these are no options
    return [
        f"--{name.removesuffix('_from')}"
        for name, value in vars(request).items()
        if value and name not in others
    ]
