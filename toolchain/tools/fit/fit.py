"""`jxc.fit`: a budget of memory or a mesh goes in, a checked plan or shardings come out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...backend.lowered import Lowered, lower
from ...backend.targets import Target, find_target
from ...display.progress import progress as line_of_progress
from ...errors import UsageError
from ...ir.shardings import argument_specs, module_device_count, parse_mesh
from ...units import parse_bytes
from .clock import GivenArguments, clock_of
from .measure import Measurement, require_measurable
from .meshes.result import MeshFit
from .meshes.search import meshes_for, search_meshes
from .result import FitResult
from .search import search


def fit(
    program: Lowered | Callable[..., Any],
    /,
    *args: Any,
    target: Target | str | None = None,
    max_memory: int | str | None = None,
    mesh: str | Mapping[str, int] | None = None,
    devices: int | None = None,
    pipeline: str = "O2",
    seconds: float = 300.0,
    exact: bool = False,
    batch: str = "",
    measure: bool = False,
    progress: Callable[[str], None] | None = None,
    **kwargs: Any,
) -> FitResult | MeshFit:
    """Find the cheapest plan, or over several devices the fastest shardings, that fit into memory.

        found = jxc.fit(step, params, batch, target="tpu:v5e", max_memory="14GiB")
        found.save("plan.toml")
        step = jxc.jit(step, pipeline="plan.toml")

        found = jxc.fit(step, params, batch, target="tpu:v5e:4x4")
        found.save("plan.toml")  # the shardings, and the values to compute again
        print(found.code)  # in_shardings and out_shardings, and this file for jxc.jit

    Shardings are searched for if a mesh, a number of devices, or a TPU of several chips is named,
    and the program has no shardings of its own.

    Args:
        program: a function, what `jax.jit` made of one, or the result of `jxc.lower`.
        args, kwargs: of a function, as `jxc.lower` takes them; none for a lowered program.
        target: the hardware, which need not be present: "cpu" (the default), "tpu:v5e".
        max_memory: bytes of one device, or a size such as "14GiB"; the device's by default.
        mesh: the mesh to split the program over, such as "data=4,model=2"; by default, all meshes
            of one or two axes are tried.
        devices: how many devices to split it over; by default, those of the mesh or the target.
        pipeline: the passes that run after those of the plan, as text.
        seconds: no further version is compiled after so many, and those that are being compiled are
            given up if a plan fits. Ctrl-C ends the search as well; both give the best plan found
            until then.
        exact: whether only measures are tried that keep each bit of the results: the batch does not
            run in parts, and no kernels are used, which sum in another order.
        batch: the arguments that have the batch in their first dimension, such as "x,y", if they
            are not found.
        measure: also measure the memory of the version without a plan and of those that fit on this
            machine's CPU, which the target must be, and time calls of all of them that alternate;
            choose the fastest, and add both to the result.
        progress: called with a description of each step; by default, a terminal or a notebook
            shows it if it takes long.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        UsageError: an argument is wrong, or the device's memory is not known.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    if isinstance(program, Lowered):
        if args or kwargs:
            raise UsageError("fit: a lowered program has its arguments; expected fit(lowered)")
        lowered = program
    elif callable(program):
        lowered = lower(program, *args, **kwargs)
    else:
        raise UsageError(
            "fit: expected a function with its arguments, or what jxc.lower returns; found "
            f"{type(program).__name__}"
        )
    hardware = target if isinstance(target, Target) else find_target(target or "cpu")
    budget = parse_bytes(max_memory) if isinstance(max_memory, str) else max_memory
    budget = hardware.device.memory_bytes if budget is None else budget
    if budget <= 0:
        raise UsageError(
            f"the memory of {hardware.name} is not known: give max_memory, such as '14GiB'"
        )
    if measure:
        require_measurable(hardware)
    with contextlib.ExitStack() as stack:
        tell = progress or stack.enter_context(line_of_progress(f"lowering for {hardware.name}"))
        return fit_lowered(
            lowered,
            hardware,
            budget,
            mesh=parse_mesh(mesh) if isinstance(mesh, str) else mesh,
            devices=devices,
            pipeline=pipeline,
            seconds=seconds,
            exact=exact,
            batch=batch,
            run_with=(args, kwargs),
            measure=measure,
            tell=tell,
        )


def fit_lowered(
    lowered: Lowered,
    target: Target,
    budget: int,
    *,
    mesh: Mapping[str, int] | None = None,
    devices: int | None = None,
    pipeline: str = "O2",
    assume: str | Sequence[str] = (),
    seconds: float = 300.0,
    exact: bool = False,
    batch: str = "",
    run_with: tuple[Sequence[Any], Mapping[str, Any]] = ((), {}),
    measure: bool = False,
    only_shardings: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> FitResult | MeshFit:
    """The plan or the shardings of a lowered program; arguments and errors as of `fit`.

    Versions for this machine's CPU run with the arguments `run_with`; those without a value are
    random. Over several devices, `only_shardings` leaves out plans.
    """
    given: dict[str, Any] = {"pipeline": pipeline, "assume": assume}
    given |= {"seconds": seconds, "tell": tell, "exact": exact, "batch": batch}
    if not searches_shardings(lowered, target, mesh, devices):
        arguments = GivenArguments(lowered, *run_with)
        clock = clock_of(arguments, target)
        measurement = Measurement(arguments) if measure else None
        return search(lowered, target, budget, clock=clock, measurement=measurement, **given)
    if measure:
        raise UsageError("fit: only a program of one device can be measured here")
    meshes = meshes_for(lowered, target, mesh, devices)
    return search_meshes(lowered, target, budget, meshes, only_shardings=only_shardings, **given)


def searches_shardings(
    lowered: Lowered, target: Target, mesh: Mapping[str, int] | None, devices: int | None
) -> bool:
    """Whether shardings are to be found: for several devices, of a program that has none."""
    count = module_device_count(lowered.module)
    if devices or mesh or count == 1:
        chips = "x".join(target.name.split(":")[2:])
        return bool(devices or mesh) or any(extent != "1" for extent in chips.split("x") if extent)
    return not any(argument_specs(lowered.module, count)[1])
