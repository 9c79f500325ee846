"""Shard a module by the rules in a file, as if JAX had lowered it for these shardings.

Each argument and result of @main gets the spec of the first rule whose pattern matches its path.
The rules are checked against the shapes, against each other where an argument is donated to a
result, and against annotations that the module has. Then the mesh and the shardings are written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from jxc.errors import JxcError, UsageError
from jxc.ir import argument_names
from jxc.ir.shardings import (
    Spec,
    device_count,
    format_mesh,
    format_spec,
    levels_above,
    meshes_of,
    parse_mesh,
    parse_spec,
    sharding_problem,
    suggest_paths,
    without_trailing,
)
from jxc.rewrite import File, module_pass

_NO_FILE = File()
_PARTITIONS = "mhlo.num_partitions"


@module_pass(changes=(_PARTITIONS,))
def annotate_sharding(
    module: ir.Operation, *, rules: File = _NO_FILE, plan: File = _NO_FILE
) -> None:
    """Write `sdy.mesh`, `sdy.sharding` and `mhlo.num_partitions` from the rules in a file.

    `rules` is the file. `plan` is a file as `jxc fit` writes it, which has the rules as the text of
    its key `rules`; a plan whose pipeline names this pass needs no option.

    The module still computes the same function; XLA splits arrays and sums as annotated, and
    chooses the sharding of values without a rule. The first rule that matches a value counts:

        # a mesh, then PATTERN -> SPEC, a line each
        mesh data=4 model=2
        params['layers'][*]['w'] -> None,model
        params ->               # an empty spec is replicated
        x -> data,None
        scale -> data+model ?   # with a ?, a rule may match nothing
        result['out'] -> data

    A pattern is the path of an argument, as JAX prints it, or of a container of it. The paths are
    in the locations of the arguments (`jxc lower --debug-info`); without locations the arguments
    are `arg0`, `arg1`, ... A pattern that starts with `result` is for results. `*` matches any text
    without brackets, `**` any text. An argument and the result that it is donated to get the same
    sharding. A rule that contradicts an annotation of the module is an error.

    Compile for as many devices as the mesh has. `jax.jit` compiles for the devices of its
    arguments; if they are fewer, it ignores the annotations.
    """
    if rules.path:
        parsed = _parse(rules.path, rules.read())
    elif plan.path:
        parsed = _parse(f"{plan.path}: rules", _rules_of_plan(plan))
    else:
        raise UsageError("annotate-sharding needs a file of rules: annotate-sharding{rules=FILE}")
    main = _symbols(module).get("main")
    if main is None:
        raise JxcError("the module has no function @main, whose arguments and results to shard")
    values = [*_arguments(main), *_results(main)]
    wanted = _joined(values, _wanted(parsed, values))
    name, is_new = _mesh_name(module, parsed)
    shardings = [_sharding(name, *each) for each in zip(values, wanted, strict=True)]
    _write(main, values, shardings)
    _write_mesh(module, parsed.mesh, name if is_new else None)


# The rules


@dataclass(frozen=True)
class _ShardingRule:
    """A rule in the file; messages start with `where`, which is `file:line`."""

    pattern: str
    spec: Spec
    is_optional: bool
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.pattern} -> {format_spec(self.spec)}".rstrip()


@dataclass(frozen=True)
class _RuleFile:
    path: str
    mesh: dict[str, int]
    rules: tuple[_ShardingRule, ...]


def _rules_of_plan(plan: File) -> str:
    """The text of the key `rules` of a plan."""
    try:
        found = tomllib.loads(plan.read()).get("rules")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{plan.path}: not a plan: {error}") from None
    if not isinstance(found, str):
        raise UsageError(
            f'{plan.path}: annotate-sharding expected rules = """...""", a mesh and then '
            f"PATTERN -> SPEC, a line each; found {found!r}"
        )
    return found


def _parse(path: str, text: str) -> _RuleFile:
    where, first, *rest = [each for line in _lines(path, text) for each in line] or [path, ""]
    if not first.startswith("mesh "):
        raise UsageError(
            f"{where}: expected a mesh first, such as mesh data=4 model=2, found '{first}'"
        )
    with _locating(where):
        mesh = parse_mesh(first.removeprefix("mesh "))
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return _RuleFile(path, mesh, tuple(_parse_rule(*pair) for pair in pairs))


def _lines(path: str, rules: str) -> Iterator[tuple[str, str]]:
    """The lines without comments and blank lines, each after its `path:line`."""
    for number, line in enumerate(rules.splitlines(), 1):
        text = re.split(r"(?:^|\s)#", line)[0].strip()
        if text:
            yield f"{path}:{number}", text


def _parse_rule(where: str, text: str) -> _ShardingRule:
    pattern, arrow, spec = text.rpartition("->")
    if not arrow or not pattern.strip():
        raise UsageError(f"{where}: expected PATTERN -> SPEC, such as x -> data, found '{text}'")
    spec = spec.strip()
    with _locating(where):
        parsed = parse_spec(spec.removesuffix("?"))
    return _ShardingRule(pattern.strip(), parsed, spec.endswith("?"), where)


@contextmanager
def _locating(where: str) -> Iterator[None]:
    """Prefix errors with the line of the file."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


# The arguments and results


@dataclass(frozen=True)
class _MainValue:
    """An argument or a result of @main.

    `key` is the attribute of the function that lists the attributes of all arguments, or of all
    results; `own` has the attributes of this value. `alias` is the index of the result that the
    argument is donated to.
    """

    key: str
    name: str
    type: ir.Type
    own: dict[str, ir.Attribute]

    @property
    def kind(self) -> str:
        return "argument" if self.key == _ARGUMENT else "result"

    @property
    def alias(self) -> int | None:
        found = self.own.get("tf.aliasing_output") if self.key == _ARGUMENT else None
        return None if found is None else ir.IntegerAttr(found).value


_ARGUMENT, _RESULT = "arg_attrs", "res_attrs"


def _arguments(main: ir.OpView) -> Iterator[_MainValue]:
    block = main.regions[0].blocks[0]
    attributes = _own(main, _ARGUMENT, len(block.arguments))
    for value, name, own in zip(block.arguments, argument_names(main), attributes, strict=True):
        yield _MainValue(_ARGUMENT, name, value.type, own)


def _results(main: ir.OpView) -> Iterator[_MainValue]:
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    for index, (each, own) in enumerate(zip(types, _own(main, _RESULT, len(types)), strict=True)):
        info = own.get("jax.result_info")
        name = f"result[{index}]" if info is None else ir.StringAttr(info).value
        yield _MainValue(_RESULT, name, each, own)


def _own(main: ir.OpView, key: str, count: int) -> list[dict[str, ir.Attribute]]:
    if key not in main.attributes:
        return [{} for _ in range(count)]
    each = ir.ArrayAttr(main.attributes[key])
    return [{named.name: named.attr for named in ir.DictAttr(own)} for own in each]


# Matching


def _wanted(rules: _RuleFile, values: Sequence[_MainValue]) -> list[_ShardingRule | None]:
    """The first rule that matches each value, or None; checked against its shape."""
    for rule in rules.rules:
        if not rule.is_optional and not any(_matches(rule, value) for value in values):
            raise UsageError(f"{rule}: no {_kind(rule)} matches.{_offer(rule, values)}")
    return [_first(rules, value) for value in values]


def _first(rules: _RuleFile, value: _MainValue) -> _ShardingRule | None:
    rule = next((rule for rule in rules.rules if _matches(rule, value)), None)
    if rule is None:
        return None
    if why := sharding_problem(rule.spec, rules.mesh, ir.RankedTensorType(value.type).shape):
        raise UsageError(f"{rule}: {value.kind} {value.name} is {value.type}: {why}")
    return rule


def _kind(rule: _ShardingRule) -> str:
    return "result" if rule.pattern.startswith("result") else "argument"


def _matches(rule: _ShardingRule, value: _MainValue) -> bool:
    if value.kind != _kind(rule) or not isinstance(value.type, ir.RankedTensorType):  # a token
        return False
    return levels_above(rule.pattern, [value.name]) is not None


def _offer(rule: _ShardingRule, values: Sequence[_MainValue]) -> str:
    kind = _kind(rule)
    names = [value.name for value in values if value.kind == kind]
    has_names = kind == "result" or any(not re.fullmatch(r"arg\d+", name) for name in names)
    hint = "" if has_names else " For their names, lower the function with --debug-info."
    return suggest_paths(rule.pattern, names) + hint


def _joined(
    values: Sequence[_MainValue], wanted: Sequence[_ShardingRule | None]
) -> list[_ShardingRule | None]:
    """The rules, with one common rule for an argument and the result that it is donated to.

    The two share memory, so their shards must have the same size.
    """
    joined = list(wanted)
    first_result = sum(value.key == _ARGUMENT for value in values)
    for index, value in enumerate(values):
        if value.alias is None:
            continue
        other = first_result + value.alias
        one, two = wanted[index], wanted[other]
        if one and two and without_trailing(one.spec) != without_trailing(two.spec):
            raise UsageError(
                f"{one}: argument {value.name} is donated to {values[other].name}, which is "
                f"sharded otherwise: {two}"
            )
        joined[index] = joined[other] = one or two
    return joined


# Writing


def _mesh_name(module: ir.Operation, rules: _RuleFile) -> tuple[str, bool]:
    """The name of the mesh, and whether it must be added to the module."""
    meshes = meshes_of(module)
    wanted = list(rules.mesh.items())
    for name, mesh in meshes.items():
        if list(mesh.items()) == wanted:
            return name, False
    if meshes:
        found = format_mesh(next(iter(meshes.values())))
        raise JxcError(
            f"the module is already sharded over the mesh {found}, but {rules.path} has "
            f"{format_mesh(rules.mesh)}"
        )
    _check_partitions(module, rules)
    taken = _symbols(module)
    names = ("mesh", *(f"mesh_{index}" for index in range(len(taken))))
    return next(name for name in names if name not in taken), True


def _check_partitions(module: ir.Operation, rules: _RuleFile) -> None:
    found = module.attributes.get(_PARTITIONS)
    count = 1 if found is None else ir.IntegerAttr(found).value
    if count not in (1, device_count(rules.mesh)):
        raise JxcError(
            f"the module is already partitioned for {count} devices, but the mesh "
            f"{format_mesh(rules.mesh)} of {rules.path} has {device_count(rules.mesh)}"
        )


def _symbols(module: ir.Operation) -> dict[str, ir.OpView]:
    ops = module.regions[0].blocks[0].operations
    named = [op for op in ops if "sym_name" in op.attributes]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in named}


def _sharding(mesh: str, value: _MainValue, rule: _ShardingRule | None) -> ir.Attribute | None:
    """The sharding to write on a value; None to leave it as it is."""
    if rule is None:
        return None
    rank = ir.RankedTensorType(value.type).rank
    axes = [*rule.spec[:rank], *[()] * (rank - len(rule.spec))]
    sharding = sdy.TensorShardingAttr.get(mesh, [_dimension(each) for each in axes])
    for key in ("sdy.sharding", "mhlo.sharding"):
        own = value.own.get(key)
        if own is None or own == sharding:
            continue
        if key == "sdy.sharding" and _is_whole(own) and not any(rule.spec):
            return None
        raise JxcError(
            f"{rule}: {value.kind} {value.name} already has {key} = {own}: leave out the rule"
        )
    return sharding


def _is_whole(own: ir.Attribute) -> bool:
    """Whether a sharding splits no dimension. JAX writes them over a mesh without axes."""
    each = sdy.TensorShardingAttr(own).dimension_shardings
    return not any(sdy.DimensionShardingAttr(dimension).axes for dimension in each)


def _dimension(axes: tuple[str, ...]) -> ir.Attribute:
    """A dimension that is split over `axes` and no others, as in a `PartitionSpec`."""
    return sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(axis) for axis in axes], True)


def _write(
    main: ir.OpView,
    values: Sequence[_MainValue],
    shardings: Sequence[ir.Attribute | None],
) -> None:
    for key in (_ARGUMENT, _RESULT):
        pairs = [each for each in zip(values, shardings, strict=True) if each[0].key == key]
        if any(sharding is not None for _, sharding in pairs):
            each = [_with(value.own, sharding) for value, sharding in pairs]
            main.attributes[key] = ir.ArrayAttr.get(each)


def _with(own: dict[str, ir.Attribute], sharding: ir.Attribute | None) -> ir.Attribute:
    return ir.DictAttr.get(own if sharding is None else {**own, "sdy.sharding": sharding})


def _write_mesh(module: ir.Operation, mesh: Mapping[str, int], name: str | None) -> None:
    """Write the number of devices, and the mesh unless `name` is None."""
    i32, i64 = (ir.IntegerType.get_signless(width) for width in (32, 64))
    module.attributes[_PARTITIONS] = ir.IntegerAttr.get(i32, device_count(mesh))
    if name is None:
        return
    axes = [sdy.MeshAxisAttr.get(axis, size) for axis, size in mesh.items()]
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        op = sdy.MeshOp(name, sdy.MeshAttr.get(axes))
    sizes = [
        ir.DictAttr.get({"name": ir.StringAttr.get(axis), "size": ir.IntegerAttr.get(i64, size)})
        for axis, size in mesh.items()
    ]
    of_stablehlo = ir.DictAttr.get({"axes": ir.ArrayAttr.get(sizes)})
    op.attributes["stablehlo.mesh"] = of_stablehlo  # JAX writes it too
