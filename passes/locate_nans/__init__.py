"""Where the first NaN of a program comes from: which op, which line, which turn of a loop."""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.errors import JxcError, UsageError
from jxc.ir import walk
from jxc.ir.extra_results import EXTRA_RESULTS, add_results, own_results
from jxc.ir.locations import inline_calls
from jxc.ir.module import has_side_effect, main_of
from jxc.rewrite import module_pass

from .record import Recorder
from .values import magnitude, may_be_nan, record_type, table_of, vector

_WATCH = ("results", "values", "masked")


@module_pass(changes=(EXTRA_RESULTS,), adds_results="jxc.tools.debug.executable:compiled")
def locate_nans(
    module: ir.Operation, *, infs: bool = False, watch: str = "results", detail: int = -1
) -> None:
    """Say beside the results which op made the first NaN that reaches them, and in which turn.

    What the program returns stays the same; what is found is one more result, which jxc's own
    compile reads: `jxc compile ... -p locate-nans --run` prints it, and from Python the executable
    raises `jxc.NanError`. With `infs` infinities are looked for too. `watch` says how much is
    looked at on each call:

        results  only what is returned (the default). Once there is a NaN in it, a second program,
                 in which every value is looked at, runs on the same arguments.
        values   every value, in one program; without being asked where a program acts on the
                 outside, and so must not run twice.
        masked   the same, and NaNs count that never reach a result; also where none is of floats.

    A NaN that a `where` takes out again is not reported otherwise. Calls are inlined; a shard_map,
    and what else has its own regions, is looked at as one op. `detail` is the number of an op whose
    operands' statistics are written down too.
    """
    if watch not in _WATCH:
        raise UsageError(f"locate-nans: watch={watch}: expected {', '.join(_WATCH)}")
    if main_of(module) is None:
        raise JxcError("locate-nans: expected a function @main, whose results are looked at")
    how = _how(module, watch)
    element = record_type(module)
    if how == "results":
        _look_at_results(module, element, infs)
    else:
        _look_at_values(module, Recorder(element, infs, how == "masked", detail))


def _how(module: ir.Operation, watch: str) -> str:
    if watch == "masked" or not any(may_be_nan(value) for _, value in own_results(module)):
        return "masked"
    acts = watch == "results" and any(has_side_effect(op) for op in walk(module))
    return "values" if acts else watch


def _look_at_results(module: ir.Operation, element: ir.Type, infs: bool) -> None:
    told = [(name, value) for name, value in own_results(module) if may_be_nan(value)]
    with ir.InsertionPoint(_end(module)):
        found = vector([magnitude(value, element) for _, value in told])
    table = {"watch": "results", "infs": infs, "results": [[name, -1] for name, _ in told]}
    add_results(module, "locate-nans", [found], table)


def _look_at_values(module: ir.Operation, recorder: Recorder) -> None:
    inline_calls(module)
    main = main_of(module)
    assert main is not None
    (sites, record), returned = recorder.main(main)
    at = {id(site): place for place, site in enumerate(sites)}
    named = zip(own_results(module), returned, strict=False)
    table = {
        "watch": "masked" if recorder.masked else "values",
        "infs": recorder.infs,
        "results": [[name, at[id(site)]] for (name, _), site in named if site is not None],
        **table_of(sites),
    }
    add_results(module, "locate-nans", [record], table)


def _end(module: ir.Operation) -> ir.OpView:
    main = main_of(module)
    assert main is not None
    return list(main.regions[0].blocks[0].operations)[-1]
