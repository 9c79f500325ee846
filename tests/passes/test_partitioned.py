"""Programs over several devices: no rule adds communication between the devices.

The programs are those of the lit files, each argument split over two devices along one axis, and
arguments of one shape together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jax
import pytest
from jaxlib.mlir import ir

from jxc.backend import _private
from jxc.check.modules import main_type
from jxc.compiled.collectives import collectives_of
from jxc.hlo import parse_hlo
from jxc.ir import clone_module, main_of
from jxc.rewrite import Rule
from jxc.rewrite.driver import apply_rules

from ..lit_seeds import Seed, all_rules, seeds_for
from .faults import FAULTS

_MOST = 3  # ways to split a program
_SEEDS = 2  # programs of a rule
Split = dict[int, int]  # the axis to split, by the number of the argument
PARTIAL = -1  # in place of an axis: each device holds a partial sum

CRASHING = {fault.rule for fault in FAULTS if "ends the process" in fault.title}
"""Rules for programs that this process would not survive without them."""

TRIED = {
    name: [seed for seed in seeds_for(rule) if not seed.is_against][:_SEEDS]
    for name, rule in all_rules().items()
    if rule.assumes is None and (rule.targets is None or "cpu" in rule.targets)
    if name not in CRASHING
}
compared: list[str] = []
refused: list[str] = []


@pytest.mark.parametrize("name", TRIED)
def test_rule_adds_no_communication(name: str) -> None:
    for seed in TRIED[name]:
        for split in _splits(seed.program.module):
            _compare(all_rules()[name], seed, split)


@pytest.mark.parametrize("name", TRIED)
def test_rule_leaves_partial_sums(name: str) -> None:
    """Each device holds a part of the sum: a rule that adds 1 to a value would add it twice."""
    for seed in TRIED[name]:
        kinds = main_type(seed.program.module).inputs
        module = _partitioned(seed.program.module, dict.fromkeys(range(len(kinds)), PARTIAL))
        before = _readers(module)
        with module.context, ir.Location.unknown():
            apply_rules(module.operation, [all_rules()[name]], seed.context)
        assert _readers(module) == before, seed.name


def _readers(module: ir.Module) -> list[str]:
    """The ops that read an argument of @main."""
    main = main_of(module)
    assert main is not None
    arguments = main.regions[0].blocks[0].arguments
    return sorted(use.owner.operation.name for each in arguments for use in each.uses)


def _compare(rule: Rule, seed: Seed, split: Split) -> None:
    before = _partitioned(seed.program.module, split)
    after = clone_module(before)
    with after.context, ir.Location.unknown():
        if not apply_rules(after.operation, [rule], seed.context):
            return
    where = f"{seed.name}, axes {split} over two devices"
    try:
        wanted = _communication(before)
    except Exception as error:  # an error of XLA on the program before the rule
        refused.append(f"{where}: {str(error).splitlines()[0]}")
        return
    found = _communication(after)
    compared.append(where)
    assert found[0] <= wanted[0] and found[1] <= wanted[1], (
        f"{where}: {found[1]:g} collectives with {found[0]:g} bytes, "
        f"without {rule.name} {wanted[1]:g} with {wanted[0]:g}"
    )


def _splits(module: ir.Module) -> Iterator[Split]:
    """For each axis of even size: all arguments of this shape, then each argument alone."""
    shapes = [tuple(ir.RankedTensorType(kind).shape) for kind in main_type(module).inputs]
    found: list[Split] = []
    for number, shape in enumerate(shapes):
        alike = [i for i, other in enumerate(shapes) if other == shape]
        for axis, extent in enumerate(shape):
            if extent > 0 and extent % 2 == 0:
                found += [dict.fromkeys(alike, axis), {number: axis}]
    distinct = {tuple(sorted(split.items())): split for split in found}
    yield from list(distinct.values())[:_MOST]


def _partitioned(module: ir.Module, split: Mapping[int, int]) -> ir.Module:
    """The program over a mesh of two devices, with its arguments split."""
    copy = clone_module(module)
    with copy.context, ir.Location.unknown():
        copy.operation.attributes["sym_name"] = ir.StringAttr.get("program")
        for name, count in (("mhlo.num_partitions", 2), ("mhlo.num_replicas", 1)):
            count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)
            copy.operation.attributes[name] = count
        with ir.InsertionPoint.at_block_begin(copy.body):
            mesh = ir.Attribute.parse('#sdy.mesh<["d"=2]>')
            named = {"sym_name": ir.StringAttr.get("mesh"), "mesh": mesh}
            ir.Operation.create("sdy.mesh", attributes=named)
        main = next(op for op in copy.body.operations if _name(op) == "main")
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                _sharding(ir.RankedTensorType(kind).rank, split.get(number))
                for number, kind in enumerate(main_type(copy).inputs)
            ]
        )
    return copy


def _name(op: ir.OpView) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _sharding(rank: int, split: int | None) -> ir.Attribute:
    axes = ", ".join('{"d"}' if axis == split else "{}" for axis in range(rank))
    partial = ', unreduced={"d"}' if split == PARTIAL else ""
    return ir.Attribute.parse(f"{{sdy.sharding = #sdy.sharding<@mesh, [{axes}]{partial}>}}")


def _communication(module: ir.Module) -> tuple[float, float]:
    """The bytes and the number of the collectives in the executable."""
    quick = {"xla_backend_optimization_level": "0"}  # of LLVM, which comes after partitioning
    made = _private.compile_for(module, jax.devices()[:2], quick)
    found = collectives_of(parse_hlo(made.hlo_modules()[0].to_string()))
    return sum(c.payload * c.times for c in found), sum(c.times for c in found)


def test_most_partitioned_programs_were_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many programs were compared, and which XLA rejected. Runs last."""
    assert len(compared) > 10 * len(refused), "run the whole file"
    with capsys.disabled():
        print(f"\npartitioned programs compared: {len(compared)}; XLA refuses {len(refused)}")
        print(
            f"  rules left out, without which XLA ends the process: {', '.join(sorted(CRASHING))}"
        )
        for line in refused:
            print(f"  {line}")
