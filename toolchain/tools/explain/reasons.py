"""Why a function was compiled again, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .calls import Call
from .differences import nearest
from .records import Difference, Reason


def reason_for(
    call: Call, earlier: Sequence[tuple[int, Call]], lines: Mapping[int, str]
) -> Reason | None:
    """Why none of the programs of earlier calls served; None where there are none.

    Args:
        call: the one that made JAX compile.
        earlier: calls that did so before, with the numbers of their programs.
        lines: where calls were made that are not to be found at the line of this one, by number.
    """
    if not earlier:
        return None
    number, differences = nearest(call, earlier)
    name = call.function.name
    if not differences:
        return Reason(number, (), f"{name} {_FORGOTTEN}", _REMEMBER)
    said = join(dict.fromkeys(_clause(each, call) for each in differences))
    nearest_line = f"; the call at {lines[number]} came nearest" if number in lines else ""
    sentence = f"{name} was compiled again: {said}{nearest_line}"
    return Reason(number, differences, sentence, fix_of(call, differences, [c for _, c in earlier]))


def fix_of(call: Call, differences: Sequence[Difference], others: Sequence[Call]) -> str:
    """What to do about one call; `others` are of the same function."""
    kinds = dict.fromkeys(each.kind for each in differences)
    if call.function.is_operation:
        return eager_fix(is_varied=not {"shape", "dtype", "weak type"}.isdisjoint(kinds))
    fixes = []
    for kind in kinds:
        found = [each for each in differences if each.kind == kind]
        size = _full_batch(found, [call, *others]) if kind == "shape" else ""
        fixes.append(_fix_last(found, size, call) if size else fix_for(kind, found, [call]))
    return " ".join(fixes)


def eager_fix(*, is_varied: bool) -> str:
    """What to do about operations outside of jit, which may come for many types."""
    fix = "Put the computation into one function under jax.jit, if it is yours."
    more = " Keep shapes and dtypes the same, or use numpy, which compiles nothing."
    return f"{fix}{more}" if is_varied else fix


_FORGOTTEN = (
    "was compiled again though nothing in the call differs: JAX's caches had been cleared "
    "(jax.clear_caches, clear_cache), or the function had been deleted or pushed out"
)
_REMEMBER = "Keep the jitted function, and do not clear caches between its calls."


def _clause(difference: Difference, call: Call) -> str:
    where, before = difference.where, difference.before
    after = "another" if difference.after == before else difference.after
    match difference.kind:
        case "function":
            return new_object(call)
        case "closure":
            return f"{where}, which it takes from outside, was {before} and is {after}"
        case "configuration":
            return f"{where} was {before} and is {after}"
        case "static value":
            return f"the static argument {where} was {before} and is {after}"
        case "metadata":
            return f"{where} held {before} beside arrays and holds {after}"
        case "sharding":
            return f"{where} was placed {before} and is placed {after}"
    return f"{where} was {before} and is {after}"


def new_object(call: Call) -> str:
    """That a function was made anew, in words."""
    if call.function.is_operation:
        return "its parameters are others, such as a shape"
    if call.function.owner == "compiler":
        return "the function in it is a new object (JAX knows functions by identity)"
    form = _FORMS.get(call.function.form, "function object")
    if call.function.wrappers and call.function.form == "function":
        wrapper = call.function.wrappers[0].split(".")[0].lstrip("_")
        return f"{wrapper}({call.function.name}) is a new function object"
    return f"it is a new {form} (JAX knows functions by identity)"


_FORMS = {
    "lambda": "lambda object",
    "partial": "functools.partial object",
    "method": "bound method",
    "object": "object",
    "function": "function object",
}


# What to do


def fix_for(kind: str, differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    """What to do about differences of one kind, of which `calls` are the ones that differ."""
    return _FIXES[kind](differences, calls)


def _fix_shape(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names = join(dict.fromkeys(each.where for each in differences))
    pairs = [(_extents(each.before), _extents(each.after)) for each in differences]
    if any(len(before) != len(after) for before, after in pairs):
        return f"Give {names} as many dimensions in every call."
    pad = f"Pad {names} to one size, or to a few, so that one program serves many."
    return f"{pad} {mask(calls[0])}"


def mask(call: Call) -> str:
    """What padding takes to leave the results as they are."""
    if call.function.owner == "library":  # which the user cannot bucket
        return "Mask what is added."
    return "Mask what is added, or use jxc.bucket where no row depends on others."


def _full_batch(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    """The size of batches where one that is smaller is the only other; empty where it is not so."""
    pairs = [(_extents(each.before), _extents(each.after)) for each in differences]
    names = {each.where for each in differences}
    shapes = {leaf.shape[:1] for call in calls for leaf in call.leaves if leaf.name in names}
    is_last = len(shapes) == 2 and all(_is_smaller_batch(*pair) for pair in pairs)
    return pairs[0][0][0] if is_last else ""


def _fix_last(differences: Sequence[Difference], size: str, call: Call) -> str:
    names = join(dict.fromkeys(each.where for each in differences))
    drop = "If it is the last, smaller batch, drop it (drop_remainder)"
    return f"{drop}; or pad {names} to {size}. {mask(call)}"


def _extents(type_: str) -> list[str]:
    """The extents in a type such as "f32[8,128]"."""
    return [each for each in type_.partition("[")[2].partition("]")[0].split(",") if each]


def _is_smaller_batch(before: list[str], after: list[str]) -> bool:
    """Whether only the first dimension differs, and has become smaller."""
    numbers = [each[0] for each in (before, after) if each and each[0].isdigit()]
    return before[1:] == after[1:] and len(numbers) == 2 and int(numbers[0]) > int(numbers[1])


def _fix_dtype(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    first = differences[0].where
    is_number = any(
        "a Python" in word for each in differences for word in (each.before, each.after)
    )
    how = f"jnp.asarray({first}, dtype=...)" if is_number else f"{first}.astype(...)"
    return f"Give {first} one dtype before the call: {how}."


def _fix_weak(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    leaves = {leaf.name: leaf for call in calls for leaf in call.leaves}
    first = differences[0].where
    dtype = leaves[first].dtype if first in leaves else "float32"
    return f"Give {first} a dtype in every call: jnp.asarray({first}, dtype=jnp.{dtype})."


def _fix_static(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names: dict[str, list[str]] = {}
    for name in dict.fromkeys(each.where for each in differences):
        found = [each for each in differences if each.where == name]
        names.setdefault(_fix_of_static(name, found, calls), []).append(name)
    return " ".join(fix.format(join(where)) for fix, where in names.items())


def _fix_of_static(name: str, differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    """What to do about one argument, with a place for its name."""
    if all(each.before == each.after and _FUNCTION in each.after for each in differences):
        if calls[0].function.owner == "library":
            return _braced(_called_anew(calls[0]))
        return "Pass the same function object as {} each time: make it once, outside of the loop."
    known = [call.static[name] for call in calls if name in call.static]
    if known and all(each.by_identity for each in known):
        kind = known[0].words.removeprefix("an ").removeprefix("a ").removesuffix(" object")
        return (
            f"Give {_braced(kind)} equality and a hash by value (@dataclass(frozen=True)), or pass "
            "the same object each time: it equals nothing but itself."
        )
    if all(_is_only_default(each) for each in differences):
        return "Pass {} in every call, or in none: JAX takes a default for another value."
    return (
        "Pass {} as an argument that is not static, if no shape and no Python 'if' depends "
        "on it; else keep it to few values."
    )


_FUNCTION = "the function "
"""What a static value that is one is called."""


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _is_only_default(difference: Difference) -> bool:
    pair = (difference.before, difference.after)
    is_left_out = [each.endswith(_BY_DEFAULT) for each in pair]
    return any(is_left_out) and len({each.removesuffix(_BY_DEFAULT) for each in pair}) == 1


_BY_DEFAULT = " by default"


def _fix_structure(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names: dict[str, dict[str, None]] = {}
    for each in differences:
        for word, fix in _STRUCTURE.items():
            if word in (each.before, each.after):
                names.setdefault(fix, {})[each.where] = None
                break
        else:
            names.setdefault(_SAME_TREE, {})[each.where] = None
    return " ".join(fix.format(join(where)) for fix, where in names.items())


_SAME_TREE = "Give {} the same keys and types in every call; fill in what is missing."


def _fix_metadata(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names = join(dict.fromkeys(each.where for each in differences))
    return (
        f"JAX compiles for each value of what {names} holds beside arrays: make it once, before "
        "the loop (an optimiser, a function), or make it an array, if it is a number."
    )


_STRUCTURE = {
    "given by keyword": "Pass {} in one way everywhere, by position or by keyword.",
    "left out": "Pass {} in every call, or jit a function of its own for the calls without.",
}


def _fix_closure(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names = join(dict.fromkeys(each.where for each in differences))
    if all(each.where == "self" for each in differences):
        return "Jit one function that takes the object's arrays as an argument, outside the class."
    return f"Pass {names} as an argument, and define the function once, outside of the loop."


def _fix_function(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    call = calls[0]
    if call.function.owner == "library":
        return _called_anew(call)
    if call.function.owner == "compiler":
        return (
            f"Call lax.{call.function.name} under jax.jit, or define the function in it once, "
            "outside of the loop."
        )
    made = {"lambda": "the lambda", "partial": "the partial"}
    what = made.get(call.function.form, "the function")
    if call.function.wrappers:
        what = f"{call.function.wrappers[0].split('.')[0].lstrip('_')}({call.function.name})"
    elif call.function.form == "method":
        return "Make jax.jit of the method once, such as in __init__, outside of the loop."
    return f"Hoist the definition: make {what} and its jax.jit once, outside of the loop."


def _called_anew(call: Call) -> str:
    """What to do where a library jits, and the user has only what calls it."""
    return (
        f"{call.function.name} is a library's: make what it belongs to, or is given, once, outside "
        "of the loop (JAX knows functions by identity)."
    )


def _fix_sharding(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    first = differences[0].where
    return f"Place {first} once before the loop: jax.device_put({first}, sharding)."


def _fix_configuration(differences: Sequence[Difference], calls: Sequence[Call]) -> str:
    names = join(dict.fromkeys(each.where for each in differences))
    if all(each.where.startswith("jax.jit's") for each in differences):
        return "Jit the function once, with one set of options."
    return f"Set {names} once, before the first call: every program depends on it."


_FIXES: dict[str, Callable[[Sequence[Difference], Sequence[Call]], str]] = {
    "shape": _fix_shape,
    "dtype": _fix_dtype,
    "weak type": _fix_weak,
    "static value": _fix_static,
    "structure": _fix_structure,
    "metadata": _fix_metadata,
    "closure": _fix_closure,
    "function": _fix_function,
    "sharding": _fix_sharding,
    "configuration": _fix_configuration,
}


def join(parts: Iterable[str], most: int = 4) -> str:
    """ "a", "a and b", "a, b and c"; of many, the first and how many more."""
    listed = list(parts)
    if len(listed) > most + 1:
        listed = [*listed[:most], f"{len(listed) - most} more"]
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"
