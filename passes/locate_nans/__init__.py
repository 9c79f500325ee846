"""The pass `locate-nans`: which op, line and iteration produced the first NaN of a program."""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.errors import JxcError, UsageError
from jxc.ir import walk
from jxc.ir.extra_results import EXTRA_RESULTS, add_results, own_results
from jxc.ir.locations import inline_calls
from jxc.ir.module import has_side_effect, main_of
from jxc.rewrite import module_pass

from .record import NanRecorder
from .values import magnitude, may_be_nan, record_type, table_of, vector

_WATCH = ("results", "values", "masked")


@module_pass(changes=(EXTRA_RESULTS,), adds_results="jxc.tools.debug.executable:compiled")
def locate_nans(
    module: ir.Operation, *, infs: bool = False, watch: str = "results", detail: int = -1
) -> None:
    """Report which op produced the first NaN that reaches a result, and in which iteration.

    The program's results do not change. The report is an extra result that jxc's own compile reads:
    `jxc compile ... -p locate-nans --run` prints it, and from Python the executable raises
    `jxc.NanError`. `infs` reports infinities too. `watch` says what is checked on each call:

        results  only the results (the default). If one has a NaN, a second program that checks
                 every value runs on the same arguments. values   every value, in one program.
                 Programs with side effects, which must not run twice, are always compiled so.
                 masked   as values, and NaNs that never reach a result are reported too. Also used
                 for programs without float results.

    Otherwise a NaN that a `where` removes is not reported. Calls are inlined; a shard_map, and
    other ops with regions of their own, are checked as one op. `detail` is the number of an op
    whose operands' statistics are recorded too.
    """
    if watch not in _WATCH:
        raise UsageError(f"locate-nans: watch={watch}: expected {', '.join(_WATCH)}")
    if main_of(module) is None:
        raise JxcError("locate-nans: expected a function @main, whose results are checked")
    how = _how(module, watch)
    element = record_type(module)
    if how == "results":
        _watch_results(module, element, infs)
    else:
        _watch_values(module, NanRecorder(element, infs, how == "masked", detail))


def _how(module: ir.Operation, watch: str) -> str:
    if watch == "masked" or not any(may_be_nan(value) for _, value in own_results(module)):
        return "masked"
    acts = watch == "results" and any(has_side_effect(op) for op in walk(module))
    return "values" if acts else watch


def _watch_results(module: ir.Operation, element: ir.Type, infs: bool) -> None:
    watched = [(name, value) for name, value in own_results(module) if may_be_nan(value)]
    with ir.InsertionPoint(_end(module)):
        found = vector([magnitude(value, element) for _, value in watched])
    table = {"watch": "results", "infs": infs, "results": [[name, -1] for name, _ in watched]}
    add_results(module, "locate-nans", [found], table)


def _watch_values(module: ir.Operation, recorder: NanRecorder) -> None:
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
