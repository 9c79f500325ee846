"""The inputs and outputs of a function: captured arrays, donated arguments, results.

An output is traced back through the equations that compute it. If equations of its own shape lead
to an argument, it is that argument updated: a training step's parameters, a cache. Such an argument
could be donated. An output that depends on no argument is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....ir import functions
from ....ir.module import donated_arguments
from ....units import show_bytes, show_seconds
from ..finding import Finding, FindingCost, check, compiled_check
from ..jaxpr import def_use_of, is_variable, open_inner_jaxprs, open_jaxpr, origin_of
from ..program import ExaminedProgram
from ..source_code import parameters_of, returned_names
from ..thresholds import MIN_BYTES

_UPDATES = ("dynamic_update_slice", "scatter", "scatter-add", "scatter-mul", "scatter_add")
_MAX_EQUATIONS = 200  # that a search goes back
_MIN_OUTPUT_BYTES = 1 << 16  # of an output that carries no information, or of a donated argument
_MIN_MEMORY_SHARE = 0.05  # of the program's peak memory


@check
def captured_constants(program: ExaminedProgram) -> Iterator[Finding]:
    """Arrays of 1 MiB or more that the function captures instead of taking them as arguments.

    Such an array is part of the module and of every executable made of it. Another array compiles
    the function again, and XLA may spend seconds on folding constants.
    """
    for constant in program.constants:
        if constant.nbytes < MIN_BYTES:
            continue
        owner = f", {constant.name}," if constant.name else ""
        yield Finding(
            constant.place or program.defined,
            f"a captured {constant}{owner} of {show_bytes(constant.nbytes)} becomes part of the "
            "module",
            "Pass it as an argument, so that one copy serves every call; or compute it with jnp "
            "inside the function.",
            FindingCost(bytes=constant.nbytes, how="in each executable"),
        )


@check
def donation_unused(program: ExaminedProgram) -> Iterator[Finding]:
    """Donated arguments whose memory no result uses.

    The caller loses the array and gains nothing. Either no result has its shape and type, or the
    program does not use it, or XLA found no use for its memory.
    """
    reasons: dict[str, list[int]] = {}
    for number, array in enumerate(program.arguments):
        is_large = array.donated and array.bytes >= _MIN_OUTPUT_BYTES
        if is_large and (reason := _why_unused(program, number)):
            reasons.setdefault(reason, []).append(number)
    for reason, numbers in reasons.items():
        arrays = [program.arguments[number] for number in numbers]
        size = sum(array.bytes for array in arrays)
        yield Finding(
            program.defined,
            f"the donation of {_names([array.name for array in arrays])} has no effect: {reason}",
            "Donate arguments that are returned updated, in the same shape and type; leave this "
            "one out of donate_argnums.",
            FindingCost(bytes=size, how="held while the program runs"),
        )


def _why_unused(program: ExaminedProgram, number: int) -> str:
    """Why a donation has no effect; empty if it has one."""
    parameters = [each for each, array in program.parameters.items() if array == number]
    if not parameters:
        return "the program does not use it"
    if parameters[0] not in donated_arguments(functions(program.module)["main"]):
        return "no other result has its shape and type"
    compiled = program.compiled_or_none
    if compiled is None or parameters[0] in compiled.module.aliases.values():
        return ""
    return "XLA could not write a result into it"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


@check
def donation_possible(program: ExaminedProgram) -> Iterator[Finding]:
    """Arguments of 1 MiB or more that are returned updated and are not donated.

    Examples are the parameters of a training step, or a cache that is updated in place. Without
    donation the old and the new array are in memory at once, and an update in place copies the
    whole array. Only the caller knows whether the old one is still needed. The bytes are an upper
    bound: XLA may use the memory of results for temporaries before it writes them.
    """
    parameters = parameters_of(program.function)
    by_name: dict[str, list[int]] = {}
    for argument in dict.fromkeys([*_returned_updated(program), *_updated_in_place(program)]):
        path = program.arguments[argument].name
        name = path.partition("[")[0].partition(".")[0]
        by_name.setdefault(name if name in parameters else path, []).append(argument)
    compiled = program.compiled_or_none
    peak = compiled.memory.peak if compiled else 0
    for name, numbers in by_name.items():
        size = sum(program.arguments[number].bytes for number in numbers)
        if size < max(MIN_BYTES, _MIN_MEMORY_SHARE * peak):
            continue
        arrays = f"{len(numbers)} arrays" if len(numbers) > 1 else "an array"
        yield Finding(
            program.defined,
            f"{name}, {arrays} of {show_bytes(size)}, is returned updated and is not donated: the "
            "old and the new are in memory at once",
            f"jax.jit(..., donate_argnames={name!r}), if the caller does not use the old one "
            "afterwards.",
            FindingCost(bytes=size, how=_share_of_peak(program, size)),
        )


def _share_of_peak(program: ExaminedProgram, size: int) -> str:
    """How much a donation saves of the peak memory: less if XLA reuses the results' memory."""
    compiled = program.compiled_or_none
    if compiled is None:
        return "at most, by the shapes"
    buffers = compiled.memory.buffers
    unshared = sum(b.bytes for b in buffers if b.kind == "output" and not b.shared_with)
    peak = f"of {show_bytes(compiled.memory.peak)} at the peak"
    if unshared >= size:
        return peak
    return f"at most, {peak}: XLA keeps temporaries in the memory of results"


def _returned_updated(program: ExaminedProgram) -> Iterator[int]:
    """The arrays of arguments that are returned updated.

    A pytree counts if most of its bytes are; a single array if the function returns a variable of
    the argument's name.
    """
    returned = returned_names(program.function)
    for carried in program.carried:
        sizes = {argument: program.arguments[argument].bytes for argument, _ in carried.pairs}
        updated = [pair[0] for pair in carried.pairs if _is_update_of(program, *pair)]
        is_named = len(carried.pairs) > 1 or carried.name in returned
        if is_named and 2 * sum(map(sizes.__getitem__, updated)) >= sum(sizes.values()):
            yield from updated


def _is_update_of(program: ExaminedProgram, argument: int, result: int) -> bool:
    """Whether a result is computed elementwise from an argument, and is not its gradient."""
    outer = open_jaxpr(program.jaxpr)
    source = outer.invars[argument]
    origin = origin_of(outer, outer.outvars[result])
    variable = origin.variable
    if program.arguments[argument].donated or variable is source or not is_variable(variable):
        return False
    makers = def_use_of(origin.jaxpr).makers
    maker = makers.get(variable)
    if maker is None or "transpose(" in str(maker.source_info.name_stack):
        return False
    for call in origin.calls:  # the argument's name in the function that makes the result
        if source not in call.invars:
            return False
        source = next(open_inner_jaxprs(call)).invars[call.invars.index(source)]
    return _is_made_of(makers, variable, source)


def _is_made_of(makers: dict[Any, Any], variable: Any, source: Any) -> bool:
    """Whether a path of equations of one shape leads back to a source."""
    pending: list[Any] = [variable]
    visited: set[Any] = set()
    while pending and len(visited) < _MAX_EQUATIONS:
        each = pending.pop()
        if each is source:
            return True
        if each not in visited and each in makers:
            visited.add(each)
            operands = filter(is_variable, makers[each].invars)
            pending += [x for x in operands if x.aval.shape == variable.aval.shape]
    return False


def _updated_in_place(program: ExaminedProgram) -> Iterator[int]:
    """The arrays of arguments that are returned after slices were written into them."""
    jaxpr = open_jaxpr(program.jaxpr)
    for number, result in enumerate(program.results):
        for argument, array in enumerate(program.arguments):
            is_large = not array.donated and array.bytes >= MIN_BYTES
            may_be_updated = is_large and array.kind == result.kind
            variables = jaxpr.outvars[number], jaxpr.invars[argument]
            if may_be_updated and _is_chain_of_updates(jaxpr, *variables):
                yield argument


def _is_chain_of_updates(jaxpr: Any, variable: Any, source: Any) -> bool:
    """Whether a variable is a source into which slices were written, and nothing else."""
    makers = def_use_of(jaxpr).makers
    for count in range(_MAX_EQUATIONS):
        maker = makers.get(variable) if is_variable(variable) else None
        if maker is None or maker.primitive.name not in _UPDATES:
            return count > 0 and variable is source
        variable = maker.invars[0]
    return False


@compiled_check
def replicated_argument(program: ExaminedProgram) -> Iterator[Finding]:
    """Arguments of 1 MiB or more that every device of a mesh holds whole, and that could be split.

    Each device then holds a part, and XLA gathers the rest where it is used, which takes time on
    the network. Arguments that are a small share of the memory at the peak are left alone.
    """
    compiled = program.compiled
    found = compiled.splittable
    saved = sum(each.bytes - each.bytes // split.parts for each, split in found)
    if not found or saved < _MIN_MEMORY_SHARE * compiled.memory.peak:
        return
    first, split = found[0]
    is_one = len(found) == 1
    seconds = compiled.gathering_seconds
    gathered = f", in {show_seconds(seconds)} for all of them by the network" if seconds else ""
    yield Finding(
        program.defined,
        f"{_names([each.name for each, _ in found])}{'' if is_one else ': each'} is whole on each "
        f"of {first.devices} devices",
        f'Split it, as --sharding "{first.name}={split}" does; XLA gathers it where it is used'
        f"{gathered}.",
        FindingCost(bytes=saved, how=f"of {show_bytes(compiled.memory.peak)} on each device"),
    )


@check
def dead_output(program: ExaminedProgram) -> Iterator[Finding]:
    """Outputs of 64 KiB or more that carry no information.

    They are constants, equal to another output, or an argument that is returned unchanged. Each is
    written at every call. A donated argument that is returned costs nothing, since the output uses
    its memory.
    """
    if not program.arguments:
        return
    kinds = _output_kinds(program)
    if all(kind == "constant" for kind in kinds):
        return  # a function that makes an initial state
    for kind, (what, fix) in _OUTPUT_TEXTS.items():
        arrays = [array for array, each in zip(program.results, kinds, strict=True) if each == kind]
        if not arrays:
            continue
        size = sum(array.bytes for array in arrays)
        yield Finding(
            program.returned,
            f"{_names([array.name for array in arrays])}{': each' * (len(arrays) > 1)} {what}",
            fix,
            FindingCost(size, program.seconds_of(size), how="written in each call"),
        )


_OUTPUT_TEXTS = {
    "constant": (
        "depends on no argument: the same values are written at every call",
        "Compute it once, outside of the function.",
    ),
    "duplicate": (
        "is equal to an earlier output: it is written twice at every call",
        "Return it once.",
    ),
    "argument": (
        "is an argument, unchanged: it is copied at every call",
        "Do not return it, since the caller has it; or donate the argument (donate_argnames), so "
        "that nothing is copied.",
    ),
}


def _output_kinds(program: ExaminedProgram) -> list[str]:
    """For each result: "constant", "duplicate", "argument", or empty."""
    jaxpr = open_jaxpr(program.jaxpr)
    arguments = dict(zip(jaxpr.invars, program.arguments, strict=False))
    varying = set(jaxpr.invars)  # the variables that depend on an argument or on a side effect
    for equation in jaxpr.eqns:
        if equation.effects or any(is_variable(x) and x in varying for x in equation.invars):
            varying.update(equation.outvars)
    earlier: set[tuple[int, ...]] = set()
    kinds = []
    for array, variable in zip(program.results, jaxpr.outvars, strict=True):
        origin = origin_of(jaxpr, variable)
        kind = ""
        if array.bytes >= _MIN_OUTPUT_BYTES:
            if not all(map(is_variable, (variable, origin.variable))) or variable not in varying:
                kind = "constant"
            elif origin.variable in arguments:
                kind = "" if arguments[origin.variable].donated else "argument"
            elif origin.key in earlier:
                kind = "duplicate"
        earlier.add(origin.key)
        kinds.append(kind)
    return kinds
