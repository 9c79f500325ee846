"""Memory of arguments that results could take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....ir import functions
from ....units import show_bytes
from ..equations import flow_of, inner_of, is_variable, open_jaxpr
from ..finding import Cost, Finding
from ..program import Program
from ..registry import check
from ..syntax import parameters_of, returned_names
from ..thresholds import LEAST_BYTES, LEAST_DEAD, LEAST_SHARE_OF_MEMORY
from .outputs import through_calls

_UPDATES = ("dynamic_update_slice", "scatter", "scatter-add", "scatter-mul", "scatter_add")
_FAR = 200  # equations that a search goes back
_ALIASED = ("tf.aliasing_output", "jax.buffer_donor")


@check
def donation_unused(program: Program) -> Iterator[Finding]:
    """Donated arguments whose memory no result takes.

    The caller loses the array and gains nothing: no result has its shape and type, the program does
    not use it, or XLA found no use for it.
    """
    reasons: dict[str, list[int]] = {}
    for number, leaf in enumerate(program.arguments):
        if leaf.donated and leaf.bytes >= LEAST_DEAD and (why := _why_unused(program, number)):
            reasons.setdefault(why, []).append(number)
    for why, numbers in reasons.items():
        leaves = [program.arguments[number] for number in numbers]
        size = sum(leaf.bytes for leaf in leaves)
        yield Finding(
            program.defined,
            f"{_names([leaf.name for leaf in leaves])} is donated for nothing: {why}",
            "Donate what comes back changed, in the same shape and type; leave this one out of "
            "donate_argnums.",
            Cost(bytes=size, how="held while the program runs"),
        )


def _why_unused(program: Program, number: int) -> str:
    places = [place for place, leaf in program.parameters.items() if leaf == number]
    if not places:
        return "the program does not use it"
    main = functions(program.module)["main"]
    attributes = main.attributes["arg_attrs"][places[0]] if "arg_attrs" in main.attributes else {}
    if not any(name in attributes for name in _ALIASED):
        return "no result that is still free has its shape and type"
    compiled = program.compiled_or_none
    if compiled is None or places[0] in compiled.module.aliases.values():
        return ""
    return "XLA could not write a result into it"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


@check
def donation_possible(program: Program) -> Iterator[Finding]:
    """Arguments that come back changed, in their own shape and type, and that nobody donated.

    A training step's parameters, a cache that is updated in place: old and new live side by side,
    and of what is updated in place all the rest is copied. Said where it is 1 MiB and more; whether
    the caller needs the old one, only the caller knows. The bytes are the most that is saved: where
    results are written last, XLA has kept temporaries in their memory, and needs other memory then.
    """
    pairs = {**_carried(program), **_updated(program)}
    by_name: dict[str, list[int]] = {}
    for argument in pairs:
        by_name.setdefault(_parameter_of(program, argument), []).append(argument)
    for name, numbers in by_name.items():
        size = sum(program.arguments[number].bytes for number in numbers)
        if size >= max(LEAST_BYTES, LEAST_SHARE_OF_MEMORY * _peak(program)):
            yield _possible(program, name, numbers, size)


def _possible(program: Program, name: str, numbers: list[int], size: int) -> Finding:
    arrays = f"{len(numbers)} arrays" if len(numbers) > 1 else "an array"
    return Finding(
        program.defined,
        f"{name}, {arrays} of {show_bytes(size)}, comes back changed, and is not donated: old and "
        "new are there at once",
        f"jax.jit(..., donate_argnames={name!r}), if the caller does not use the old one "
        "afterwards.",
        Cost(bytes=size, how=_of_peak(program, size)),
    )


def _of_peak(program: Program, size: int) -> str:
    """What donating saves at the peak: less where XLA has another use for the results' memory."""
    compiled = program.compiled_or_none
    if compiled is None:
        return "at most, by the shapes"
    outputs = [each for each in compiled.memory.buffers if each.kind == "output"]
    alone = sum(each.bytes for each in outputs if not each.shared_with)
    peak = f"of {show_bytes(compiled.memory.peak)} at the peak"
    if alone >= size:
        return peak
    return f"at most, {peak}: XLA keeps temporaries where results are written later"


def _peak(program: Program) -> int:
    compiled = program.compiled_or_none
    return compiled.memory.peak if compiled else 0


def _parameter_of(program: Program, argument: int) -> str:
    """The name of the function's parameter that an argument's leaf is in."""
    name = program.arguments[argument].name
    ahead = name.partition("[")[0].partition(".")[0]
    known = parameters_of(program.function)
    return ahead if ahead in known else name


def _carried(program: Program) -> dict[int, int]:
    """Leaves of arguments that come back as a whole -> the results that they come back as."""
    returned = returned_names(program.function)
    found: dict[int, int] = {}
    for carried in program.carried:
        pairs = [pair for pair in carried.pairs if _comes_back(program, *pair)]
        whole = sum(program.arguments[argument].bytes for argument, _ in carried.pairs)
        if 2 * sum(program.arguments[argument].bytes for argument, _ in pairs) < whole:
            continue
        if carried.is_tree or carried.name in returned:
            found.update(pairs)
    return found


def _comes_back(program: Program, argument: int, result: int) -> bool:
    """Whether a result is an argument with something done to its elements, and no gradient."""
    origin = through_calls(*_output(program, result))
    jaxpr, variable = origin.jaxpr, origin.variable
    source = open_jaxpr(program.jaxpr).invars[argument]
    if program.arguments[argument].donated or variable is source or not is_variable(variable):
        return False
    makers = flow_of(jaxpr).makers
    maker = makers.get(variable)
    if maker is None or "transpose(" in str(maker.source_info.name_stack):
        return False
    wanted = source
    for call in origin.calls:
        if wanted not in call.invars:
            return False
        wanted = next(inner_of(call)).invars[call.invars.index(wanted)]
    return _is_made_of(makers, variable, wanted)


def _output(program: Program, result: int) -> tuple[Any, Any]:
    jaxpr = open_jaxpr(program.jaxpr)
    return jaxpr, jaxpr.outvars[result]


def _is_made_of(makers: dict[Any, Any], variable: Any, source: Any) -> bool:
    """Whether a path of equations of one shape leads back to a source."""
    pending: list[Any] = [variable]
    seen: set[Any] = set()
    while pending and len(seen) < _FAR:
        each = pending.pop()
        if each is source:
            return True
        if each in seen or each not in makers:
            continue
        seen.add(each)
        operands = [operand for operand in makers[each].invars if is_variable(operand)]
        pending += [operand for operand in operands if operand.aval.shape == variable.aval.shape]
    return False


def _updated(program: Program) -> dict[int, int]:
    """Leaves of arguments of which only a part is written -> the results that they come back as."""
    found = {}
    inputs = open_jaxpr(program.jaxpr).invars
    large = [
        (argument, leaf)
        for argument, leaf in enumerate(program.arguments)
        if not leaf.donated and leaf.bytes >= LEAST_BYTES
    ]
    for result, like in enumerate(program.results):
        for argument, leaf in large:
            if leaf.kind == like.kind and _is_updated(program, result, inputs[argument]):
                found[argument] = result
    return found


def _is_updated(program: Program, result: int, source: Any) -> bool:
    """Whether a result is an argument into which something was written, nothing else."""
    jaxpr, variable = _output(program, result)
    makers = flow_of(jaxpr).makers
    for count in range(_FAR):
        maker = makers.get(variable)
        if maker is None or maker.primitive.name not in _UPDATES:
            return count > 0 and variable is source
        variable = maker.invars[0]
        if not is_variable(variable):
            return False
    return False
