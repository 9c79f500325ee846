"""Shard a module by rules from a file, as JAX would have lowered it for these shardings."""

from __future__ import annotations

import re
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
def annotate_sharding(module: ir.Operation, *, rules: File = _NO_FILE) -> None:
    """Write `sdy.mesh`, `sdy.sharding` and `mhlo.num_partitions` from the rules in a file.

    What the module means stays the same, bit for bit; where it is computed is now said, and XLA
    adds up in parts what it splits. What no rule names is left to XLA. The first rule that matches
    counts:

        # a mesh, then PATTERN -> SPEC, a line each
        mesh data=4 model=2
        params['layers'][*]['w'] -> None,model
        params ->               # an empty spec is replicated
        x -> data,None
        scale -> data+model ?   # may match nothing: without the ? that is an error
        result['out'] -> data

    A pattern is the path of an argument, or of what contains it, as JAX prints it, which is where
    its location says so (`lower --debug-info`); otherwise the arguments are `arg0`, `arg1`, ...
    A pattern that begins with `result` is about results. `*` stands for anything but brackets, `**`
    for anything. An argument and a result that alias each other are sharded alike. Annotations that
    are there already stay, and a rule that says otherwise is an error.

    Compile for as many devices as the mesh has. `jax.jit` compiles for those that its arguments are
    on, and takes no notice of what is written here where they are fewer.
    """
    if not rules.path:
        raise UsageError("annotate-sharding needs its rules: annotate-sharding{rules=FILE}")
    parsed = _parse(rules)
    main = _symbols(module).get("main")
    if main is None:
        raise JxcError("expected a function @main, whose arguments and results are to be sharded")
    values = [*_arguments(main), *_results(main)]
    wanted = _joined(values, _wanted(parsed, values))
    name, is_new = _mesh_name(module, parsed)
    shardings = [_sharding(name, *each) for each in zip(values, wanted, strict=True)]
    _write(main, values, shardings)
    _write_mesh(module, parsed.mesh, name if is_new else None)


# The rules


@dataclass(frozen=True)
class _Rule:
    """A line of the file; `where` is `file:line`, for messages."""

    pattern: str
    spec: Spec
    is_optional: bool
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.pattern} -> {format_spec(self.spec)}".rstrip()


@dataclass(frozen=True)
class _Rules:
    path: str
    mesh: dict[str, int]
    rules: tuple[_Rule, ...]


def _parse(file: File) -> _Rules:
    where, first, *rest = [each for line in _lines(file) for each in line] or [file.path, ""]
    if not first.startswith("mesh "):
        raise UsageError(
            f"{where}: expected a mesh first, such as mesh data=4 model=2, found '{first}'"
        )
    with _locating(where):
        mesh = parse_mesh(first.removeprefix("mesh "))
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return _Rules(file.path, mesh, tuple(_parse_rule(*pair) for pair in pairs))


def _lines(file: File) -> Iterator[tuple[str, str]]:
    """The lines that say something, each after its `file:line`."""
    for number, line in enumerate(file.read().splitlines(), 1):
        text = re.split(r"(?:^|\s)#", line)[0].strip()
        if text:
            yield f"{file.path}:{number}", text


def _parse_rule(where: str, text: str) -> _Rule:
    pattern, arrow, spec = text.rpartition("->")
    if not arrow or not pattern.strip():
        raise UsageError(f"{where}: expected PATTERN -> SPEC, such as x -> data, found '{text}'")
    spec = spec.strip()
    with _locating(where):
        parsed = parse_spec(spec.removesuffix("?"))
    return _Rule(pattern.strip(), parsed, spec.endswith("?"), where)


@contextmanager
def _locating(where: str) -> Iterator[None]:
    """Put the place in the file before what is wrong there."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


# What they are about


@dataclass(frozen=True)
class _Value:
    """An argument or a result of @main.

    `key` is the function's attribute that holds its own; `alias` is the index of the result that an
    argument is donated to.
    """

    key: str
    index: int
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


def _arguments(main: ir.OpView) -> Iterator[_Value]:
    block = main.regions[0].blocks[0]
    attributes = _own(main, _ARGUMENT, len(block.arguments))
    told = zip(block.arguments, argument_names(main), attributes, strict=True)
    for index, (value, name, own) in enumerate(told):
        yield _Value(_ARGUMENT, index, name, value.type, own)


def _results(main: ir.OpView) -> Iterator[_Value]:
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    for index, (each, own) in enumerate(zip(types, _own(main, _RESULT, len(types)), strict=True)):
        info = own.get("jax.result_info")
        name = f"result[{index}]" if info is None else ir.StringAttr(info).value
        yield _Value(_RESULT, index, name, each, own)


def _own(main: ir.OpView, key: str, count: int) -> list[dict[str, ir.Attribute]]:
    if key not in main.attributes:
        return [{} for _ in range(count)]
    each = ir.ArrayAttr(main.attributes[key])
    return [{named.name: named.attr for named in ir.DictAttr(own)} for own in each]


# Which rule is for which


def _wanted(rules: _Rules, values: Sequence[_Value]) -> list[_Rule | None]:
    """The first rule that matches each value, seen to fit it."""
    for rule in rules.rules:
        if not rule.is_optional and not any(_matches(rule, value) for value in values):
            raise UsageError(f"{rule}: matches nothing.{_offer(rule, values)}")
    return [_first(rules, value) for value in values]


def _first(rules: _Rules, value: _Value) -> _Rule | None:
    rule = next((rule for rule in rules.rules if _matches(rule, value)), None)
    if rule is None:
        return None
    if why := sharding_problem(rule.spec, rules.mesh, ir.RankedTensorType(value.type).shape):
        raise UsageError(f"{rule}: {value.kind} {value.name} is {value.type}: {why}")
    return rule


def _matches(rule: _Rule, value: _Value) -> bool:
    is_for = "result" if rule.pattern.startswith("result") else "argument"
    if value.kind != is_for or not isinstance(value.type, ir.RankedTensorType):  # a token
        return False
    return levels_above(rule.pattern, [value.name]) is not None


def _offer(rule: _Rule, values: Sequence[_Value]) -> str:
    kind = "result" if rule.pattern.startswith("result") else "argument"
    names = [value.name for value in values if value.kind == kind]
    has_names = kind == "result" or any(not re.fullmatch(r"arg\d+", name) for name in names)
    hint = "" if has_names else " They have no names here: lower with --debug-info keeps them."
    return suggest_paths(rule.pattern, names) + hint


def _joined(values: Sequence[_Value], wanted: Sequence[_Rule | None]) -> list[_Rule | None]:
    """The rules, those of an argument and of the result that it is donated to made one.

    They share memory, and XLA refuses shards of two sizes for it.
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


def _mesh_name(module: ir.Operation, rules: _Rules) -> tuple[str, bool]:
    """The name of the mesh, and whether it is still to be written."""
    meshes = meshes_of(module)
    asked = list(rules.mesh.items())
    for name, mesh in meshes.items():
        if list(mesh.items()) == asked:
            return name, False
    if meshes:
        found = format_mesh(next(iter(meshes.values())))
        raise JxcError(
            f"the module is sharded over the mesh {found} already, and {rules.path} has another, "
            f"{format_mesh(rules.mesh)}"
        )
    _check_partitions(module, rules)
    taken = _symbols(module)
    names = ("mesh", *(f"mesh_{index}" for index in range(len(taken))))
    return next(name for name in names if name not in taken), True


def _check_partitions(module: ir.Operation, rules: _Rules) -> None:
    found = module.attributes.get(_PARTITIONS)
    count = 1 if found is None else ir.IntegerAttr(found).value
    if count not in (1, device_count(rules.mesh)):
        raise JxcError(
            f"the module is for {count} devices already, and the mesh {format_mesh(rules.mesh)} of "
            f"{rules.path} has {device_count(rules.mesh)}"
        )


def _symbols(module: ir.Operation) -> dict[str, ir.OpView]:
    ops = module.regions[0].blocks[0].operations
    named = [op for op in ops if "sym_name" in op.attributes]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in named}


def _sharding(mesh: str, value: _Value, rule: _Rule | None) -> ir.Attribute | None:
    """What is to be written on a value; None where nothing is."""
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
            f"{rule}: {value.kind} {value.name} has {key} = {own} already: leave the rule out"
        )
    return sharding


def _is_whole(own: ir.Attribute) -> bool:
    """Whether a sharding splits nothing; JAX writes such over a mesh without axes."""
    each = sdy.TensorShardingAttr(own).dimension_shardings
    return not any(sdy.DimensionShardingAttr(dimension).axes for dimension in each)


def _dimension(axes: tuple[str, ...]) -> ir.Attribute:
    """Split over `axes` and no others, as a `PartitionSpec` is meant."""
    return sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(axis) for axis in axes], True)


def _write(
    main: ir.OpView,
    values: Sequence[_Value],
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
    """Say over how many devices the module is sharded, and which; None: it says which."""
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
