"""Why a function was compiled again, as a sentence, and what the user can do about it.

`reason_for` compares a call with earlier ones. Each kind of difference has a subject, which begins
its clause in the sentence, and a fix. `groups.py` uses the same for several calls at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .calls import JitCall
from .differences import CallDifference, most_similar


@dataclass(frozen=True)
class Reason:
    """Why a function that had been compiled was compiled again.

    Attributes:
        nearest: the number of the earlier compilation whose call differs least from this one.
        differences: between the two calls.
        sentence: the differences as a sentence.
        fix: what the user can do about them.
    """

    nearest: int
    differences: tuple[CallDifference, ...]
    sentence: str
    fix: str


def reason_for(
    call: JitCall, earlier: Sequence[tuple[int, JitCall]], lines: Mapping[int, str]
) -> Reason | None:
    """Why no program of an earlier call served this one; None if there are no earlier calls.

    Args:
        call: the call that made JAX compile.
        earlier: calls that did so before, with the numbers of their compilations.
        lines: by number, the lines of the earlier calls that were made at another line than `call`.
    """
    if not earlier:
        return None
    number, differences = most_similar(call, earlier)
    name = call.function.name
    if not differences:
        return Reason(number, (), f"{name} {_NO_DIFFERENCE}", _KEEP_CACHES)
    clauses = join(dict.fromkeys(_clause(each, call) for each in differences))
    elsewhere = f"; the most similar earlier call is at {lines[number]}" if number in lines else ""
    fix = fix_of_call(call, differences, [other for _, other in earlier])
    return Reason(number, differences, f"{name} was compiled again: {clauses}{elsewhere}", fix)


_NO_DIFFERENCE = (
    "was compiled again although nothing in the call differs: JAX's caches were cleared "
    "(jax.clear_caches, clear_cache), or the function was deleted or evicted from them"
)
_KEEP_CACHES = "Keep the jitted function, and do not clear caches between its calls."

SUBJECTS = {
    "closure": "the captured variable {}",
    "static value": "the static argument {}",
    "metadata": "what {} holds besides arrays",
    "sharding": "the sharding of {}",
}
"""The subject of a clause by the kind of difference; for other kinds, the argument itself."""


def _clause(difference: CallDifference, call: JitCall) -> str:
    if difference.kind == "function":
        return new_object(call)
    subject = SUBJECTS.get(difference.kind, "{}").format(difference.where)
    after = "another" if difference.after == difference.before else difference.after
    return f"{subject} was {difference.before} and is now {after}"


_BY_OBJECT = "(JAX caches programs by function object)"


def new_object(call: JitCall) -> str:
    """The clause that says that the function is another object than before."""
    function = call.function
    if function.is_operation:
        return "its parameters differ, such as a shape"
    if function.owner == "compiler":
        return f"the function passed to it is a new object {_BY_OBJECT}"
    if function.wrappers and function.form == "function":
        return f"{_wrapped_name(call)} is a new function object"
    return f"it is a new {_FORMS.get(function.form, 'function object')} {_BY_OBJECT}"


_FORMS = {
    "lambda": "lambda object",
    "partial": "functools.partial object",
    "method": "bound method",
    "object": "object",
}


def _wrapped_name(call: JitCall) -> str:
    """Such as "grad(loss)"."""
    wrapper = call.function.wrappers[0].split(".")[0].lstrip("_")
    return f"{wrapper}({call.function.name})"


# Fixes


def fix_of_call(
    call: JitCall, differences: Sequence[CallDifference], others: Sequence[JitCall]
) -> str:
    """What to do about one call; `others` are calls of the same function."""
    kinds = dict.fromkeys(each.kind for each in differences)
    if call.function.is_operation:
        return fix_of_operations(is_varied=not {"shape", "dtype", "weak type"}.isdisjoint(kinds))
    fixes = []
    for kind in kinds:
        found = [each for each in differences if each.kind == kind]
        size = _full_batch(found, [call, *others]) if kind == "shape" else ""
        if size:
            drop = "If this is the smaller last batch, drop it (drop_remainder)"
            fixes.append(f"{drop}, or pad {_names(found)} to {size}. {mask_padding(call)}")
        else:
            fixes.append(fix_of_kind(kind, found, [call]))
    return " ".join(fixes)


def fix_of_operations(*, is_varied: bool) -> str:
    """What to do about operations outside of jit; `is_varied` if they came with several types."""
    fix = "Put the computation into one function under jax.jit, if the code is yours."
    more = " Keep shapes and dtypes the same, or use numpy, which compiles nothing."
    return f"{fix}{more}" if is_varied else fix


def fix_of_kind(kind: str, differences: Sequence[CallDifference], calls: Sequence[JitCall]) -> str:
    """What to do about differences of one kind.

    Args:
        kind: the kind.
        differences: the differences of that kind.
        calls: the calls with these differences, without the first one, which they differ from.
    """
    name, names = differences[0].where, _names(differences)
    match kind:
        case "shape":
            pairs = [(_dimensions(each.before), _dimensions(each.after)) for each in differences]
            if any(len(before) != len(after) for before, after in pairs):
                return f"Give {names} the same number of dimensions in every call."
            varied = {(b, a) for pair in pairs for b, a in zip(*pair, strict=True) if b != a}
            mask = mask_padding(calls[0], len(varied))
            return f"Pad {names} to one size, or to a few, so that calls share programs. {mask}"
        case "dtype":
            is_number = any("a Python" in f"{each.before} {each.after}" for each in differences)
            how = f"jnp.asarray({name}, dtype=...)" if is_number else f"{name}.astype(...)"
            return f"Convert {names} to one dtype before the call: {how}."
        case "weak type":
            dtypes = {leaf.name: leaf.dtype for call in calls for leaf in call.leaves}
            dtype = dtypes.get(name, "float32")
            return f"Give {names} a dtype in every call: jnp.asarray({name}, dtype=jnp.{dtype})."
        case "static value":
            return _fixes_of_names(differences, lambda same: _fix_static_value(same, calls))
        case "structure":
            return _fixes_of_names(differences, _fix_structure)
        case "metadata":
            return (
                f"JAX compiles a program for each value that {names} holds besides arrays: create "
                "such values (an optimizer, a function) once, before the loop, and make numbers "
                "arrays."
            )
        case "closure" if all(each.where == "self" for each in differences):
            return (
                "Jit one function outside the class that takes the object's arrays as an argument."
            )
        case "closure":
            return f"Pass {names} as an argument, and define the function once, {_OUTSIDE}."
        case "function":
            return _fix_function(calls[0])
        case "sharding":
            return f"Place {names} once before the loop: jax.device_put({name}, sharding)."
    if all(each.where.startswith("jax.jit's") for each in differences):
        return "Jit the function once, with one set of options."
    return f"Set {names} once, before the first call: every program depends on it."


_OUTSIDE = "outside the loop"


def _names(differences: Sequence[CallDifference]) -> str:
    return join(dict.fromkeys(each.where for each in differences))


def mask_padding(call: JitCall, dimensions: int = 1) -> str:
    """How to keep padding out of the results, if so many dimensions vary on their own."""
    if call.function.owner == "library" or dimensions > 1:  # which jxc.bucket cannot pad
        return "Mask the padding."
    return "Mask the padding, or use jxc.bucket if no row depends on other rows."


def _full_batch(differences: Sequence[CallDifference], calls: Sequence[JitCall]) -> str:
    """The size of batches if calls have that and one smaller size; empty otherwise."""
    pairs = [(_dimensions(each.before), _dimensions(each.after)) for each in differences]
    names = {each.where for each in differences}
    sizes = {leaf.shape[:1] for call in calls for leaf in call.leaves if leaf.name in names}
    if len(sizes) != 2:
        return ""
    for before, after in pairs:  # only the first dimension may differ, and be smaller
        batches = [each[0] for each in (before, after) if each and each[0].isdigit()]
        if before[1:] != after[1:] or len(batches) < 2 or int(batches[0]) <= int(batches[1]):
            return ""
    return pairs[0][0][0]


def _dimensions(type_: str) -> list[str]:
    """The dimensions in a type such as "f32[8,128]"."""
    return [each for each in type_.partition("[")[2].partition("]")[0].split(",") if each]


def _fixes_of_names(
    differences: Sequence[CallDifference], fix_of: Callable[[list[CallDifference]], str]
) -> str:
    """The fix for each argument, with {} for its name; arguments that share one are listed."""
    names: dict[str, list[str]] = {}
    for name in dict.fromkeys(each.where for each in differences):
        fix = fix_of([each for each in differences if each.where == name])
        names.setdefault(fix, []).append(name)
    return " ".join(fix.replace("{}", join(where)) for fix, where in names.items())


def _fix_static_value(differences: Sequence[CallDifference], calls: Sequence[JitCall]) -> str:
    if all(each.before == each.after and "the function " in each.after for each in differences):
        if calls[0].function.owner == "library":
            return _fix_in_library(calls[0])
        return f"Pass the same function object as {{}} each time: create it once, {_OUTSIDE}."
    name, suffix = differences[0].where, " by default"
    known = [call.static[name] for call in calls if name in call.static]
    if known and all(each.by_identity for each in known):
        kind = known[0].text.removeprefix("an ").removeprefix("a ").removesuffix(" object")
        return (
            f"Define equality and a hash by value for {kind} (@dataclass(frozen=True)), or pass "
            "the same object each time: as it is, each object equals only itself."
        )
    if all(
        each.before != each.after
        and each.before.removesuffix(suffix) == each.after.removesuffix(suffix)
        for each in differences
    ):
        return "Pass {} in every call or in none: to JAX, a default is a different value."
    return (
        "Pass {} as a non-static argument if no shape and no Python 'if' depends on it; "
        "otherwise use few different values."
    )


def _fix_structure(differences: Sequence[CallDifference]) -> str:
    texts = {text for each in differences for text in (each.before, each.after)}
    if "given by keyword" in texts:
        return "Pass {} in the same way in every call, by position or by keyword."
    if "left out" in texts:
        return "Pass {} in every call, or jit a separate function for calls without it."
    return "Pass {} with the same keys and types in every call; fill in missing entries."


def _fix_function(call: JitCall) -> str:
    function = call.function
    if function.owner == "library":
        return _fix_in_library(call)
    if function.owner == "compiler":
        return (
            f"Call lax.{function.name} under jax.jit, or define the function passed to it once, "
            f"{_OUTSIDE}."
        )
    if function.form == "method" and not function.wrappers:
        return f"Call jax.jit on the method once, for example in __init__, {_OUTSIDE}."
    forms = {"lambda": "the lambda", "partial": "the partial"}
    what = forms.get(function.form, "the function")
    what = _wrapped_name(call) if function.wrappers else what
    return f"Create {what} and its jax.jit once, {_OUTSIDE}."


def _fix_in_library(call: JitCall) -> str:
    """What to do where a library calls `jax.jit`, and the user only calls the library."""
    return (
        f"{call.function.name} belongs to a library: create the object that has it, and functions "
        f"that are passed to it, once, {_OUTSIDE} {_BY_OBJECT}."
    )


def join(parts: Iterable[str], most: int = 4) -> str:
    """ "a", "a and b", "a, b and c"; of more than five, the first four and the number of others."""
    listed = list(parts)
    if len(listed) > most + 1:
        listed = [*listed[:most], f"{len(listed) - most} more"]
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"
