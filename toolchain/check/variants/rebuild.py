"""Build a program again, op by op, with other types, attributes, constants and operands.

Arguments and constants get the types that the plan says. Each later op takes its new operands, its
adapted attributes, and the result types that MLIR infers or `results` computes. `jxc reduce` and
`jxc verify` change sizes this way too, with a plan that draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ...errors import JxcError
from ...ir.values import element_type, shape_of
from .attributes import varied
from .plan import DYNAMIC, Number, Variation, ranked
from .program import SeedProgram, constant, vary_numbers
from .results import SHAPES, like, result_types

_COMMUTATIVE = {
    f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
}


class NotValid(JxcError):
    """A plan makes no valid program of a program."""


def rebuild(program: SeedProgram, plan: Variation) -> ir.Module:
    """The program changed by the plan, verified, in the same context.

    Raises:
        NotValid: the plan makes no valid program of it.
    """
    with program.module.context, ir.Location.unknown():
        module = ir.Module.create()
        for name, attribute in program.module.operation.attributes.items():
            module.operation.attributes[name] = attribute
        try:
            with ir.InsertionPoint(module.body):
                for op in program.module.body.operations:
                    _Function(program, plan).build(op)
            module.operation.verify()
        except (ir.MLIRError, ValueError, IndexError, OverflowError) as error:
            raise NotValid(str(error).strip().splitlines()[-1]) from error
        return module


class _Function:
    """One function being built."""

    def __init__(self, program: SeedProgram, plan: Variation) -> None:
        self.program = program
        self.plan = plan
        self.values: dict[ir.Value, ir.Value] = {}
        self.numbers: dict[ir.Value, list[Number]] = {}  # of the constants among the new values
        self.made: list[ir.Value] = []  # in the function's own block

    def build(self, op: ir.OpView) -> None:
        """Create a function again, with the result types that its ops now have."""
        if not isinstance(op, func.FuncOp):
            ir.InsertionPoint.current.insert(op.operation.clone())
            return
        inputs = [self.plan.type(value.type) for value in op.arguments]
        if op.name.value == "main":
            for index, shape in self.plan.arguments.items():
                inputs[index] = ranked(shape, ir.RankedTensorType(inputs[index]).element_type)
        is_private = "sym_visibility" in op.attributes and op.visibility.value == "private"
        visibility = "private" if is_private else "public"
        new = func.FuncOp(op.name.value, (inputs, []), visibility=visibility)
        entry = new.add_entry_block()
        self.values.update(zip(op.arguments, entry.arguments, strict=True))
        with ir.InsertionPoint(entry):
            self._fix_arguments(op.arguments)
            for inner in op.entry_block.operations:
                self._op(inner)
        given = [value.type for value in entry.arguments]
        returned = [v.type for v in entry.operations[len(entry.operations) - 1].operands]
        kind = ir.FunctionType.get(given, returned)
        new.attributes["function_type"] = ir.TypeAttr.get(kind)
        counts = {"arg_attrs": len(given), "res_attrs": len(returned)}
        for name, count in counts.items():
            if name in op.attributes and len(ir.ArrayAttr(op.attributes[name])) == count:
                new.attributes[name] = op.attributes[name]

    def _fix_arguments(self, arguments: Sequence[ir.Value]) -> None:
        """Sometimes replace an argument by a constant."""
        for value in arguments:
            kind = self.values[value].type
            if isinstance(kind, ir.RankedTensorType) and self.plan.chance(0.05):
                number = self.plan.number(str(kind.element_type))
                self.values[value] = self._constant([number], kind)

    def _constant(self, numbers: list[Number], kind: ir.RankedTensorType) -> ir.Value:
        made = constant(numbers, kind)
        self.numbers[made] = numbers
        return made

    def _op(self, op: ir.OpView) -> None:
        with op.location:
            self._op_again(op)

    def _op_again(self, op: ir.OpView) -> None:
        if isinstance(op, hlo.ConstantOp) and op.result in self.program.numbers:
            results = [self._constant_again(op.result)]
        else:
            results = list(self._created(op, self._operands(op)).results)
        self.values.update(zip(op.results, results, strict=True))
        if op.operation.parent.name == "func.func":
            self.made += results

    def _constant_again(self, old: ir.Value) -> ir.Value:
        kind = self.plan.static_type(old.type)
        elements = str(element_type(old)), str(kind.element_type)
        numbers = vary_numbers(self.program.numbers[old], *elements, self.plan)
        return self._constant(numbers, kind)

    def _operands(self, op: ir.OpView) -> list[ir.Value]:
        operands = [self.values[value] for value in op.operands]
        self._agree(op, operands)
        plan, name = self.plan, op.operation.name
        if name == "func.return" and self.made and plan.chance(0.15):
            return [*operands, plan.random.choice(self.made)]
        if name in _COMMUTATIVE and plan.chance(0.25):
            operands.reverse()
        if len(operands) > 1 and plan.chance(0.06):
            to, of = (plan.random.randrange(len(operands)) for _ in range(2))
            if operands[to].type == operands[of].type:
                operands[to] = operands[of]
        return operands

    def _agree(self, op: ir.OpView, operands: list[ir.Value]) -> None:
        """For an elementwise op, give operands of adaptable shape the shape of the others."""
        if not _is_elementwise(op) or len({shape_of(value) for value in operands}) == 1:
            return
        settled = [value for value in operands if not self._is_adaptable(value)]
        shape = shape_of((settled or operands)[0])
        for index, value in enumerate(operands):
            if self._is_adaptable(value) and shape_of(value) != shape and DYNAMIC not in shape:
                operands[index] = self._shaped(value, shape)
                self.values[op.operands[index]] = operands[index]

    def _is_adaptable(self, value: ir.Value) -> bool:
        """Whether the shape of a new value can still change: nothing depends on it yet."""
        if isinstance(value, ir.BlockArgument):
            return not any(True for _ in value.uses)
        owner = value.owner
        return value in self.numbers or (
            isinstance(owner, hlo.BroadcastInDimOp) and not shape_of(owner.operand)
        )

    def _shaped(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        kind = ranked(shape, element_type(value))
        if isinstance(value, ir.BlockArgument):
            value.set_type(kind)
            return value
        if value in self.numbers:
            return self._constant(self.numbers[value], kind)
        return hlo.broadcast_in_dim(kind, value.owner.operands[0], [])

    def _created(self, op: ir.OpView, operands: list[ir.Value]) -> ir.Operation:
        attributes = varied(op, operands, self.plan)
        name = op.operation.name
        if not op.regions and name not in SHAPES and op.results:
            made = _inferred(name, operands, attributes)
            if made is not None:
                return made
        results = result_types(op, operands, attributes, self.plan)
        created = ir.Operation.create(name, results, operands, attributes, regions=len(op.regions))
        plan = self.plan
        if name == "stablehlo.while":  # keep the counter of the loop
            self.plan = replace(plan, wildness=0.0)
        for old, new in zip(op.regions, created.regions, strict=True):
            for block in old.blocks:
                self._block(block, new, op.operands, operands)
        self.plan = plan
        return created

    def _block(
        self,
        block: ir.Block,
        region: ir.Region,
        old: Sequence[ir.Value],
        new: Sequence[ir.Value],
    ) -> None:
        types = [like(argument.type, old, new, self.plan) for argument in block.arguments]
        copy = region.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        self.values.update(zip(block.arguments, copy.arguments, strict=True))
        with ir.InsertionPoint(copy):
            for op in block.operations:
                self._op(op)


def _is_elementwise(op: ir.OpView) -> bool:
    """Whether all operands and the result have one shape; a matrix product can look like it."""
    types = [value.type for value in (*op.operands, *op.results)]
    if len(op.operands) < 2 or len(op.results) != 1 or op.operation.name == "stablehlo.dot_general":
        return False
    return all(isinstance(kind, ir.RankedTensorType) for kind in types) and (
        len({tuple(kind.shape) for kind in types}) == 1
    )


def _inferred(
    name: str, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.Operation | None:
    """The op with the result types that MLIR infers; None if MLIR cannot infer them for this op.

    Raises:
        ir.MLIRError: the op is not valid.
    """
    try:
        return ir.Operation.create(name, operands=operands, attributes=attributes, infer_type=True)
    except ir.MLIRError as error:
        if "does not support type inference" in str(error):
            return None
        raise
