"""The gradient of attention: the sum of a product over keys, from the result of the attention.

Attention is O = P @ V with P = softmax(S). Its gradient by S is P * (dP - sum(P * dP)) with
dP = dO @ V^T. The sum over all keys equals the sum of dO * O over the features of V, of which there
are fewer.

Frameworks insert dimensions of extent 1, which are ignored here: a dimension is identified by its
label, which is its position among the larger dimensions of P.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_before, is_splat, shape_of, splat_attr, users
from jxc.rewrite import reassociates, rule

from .._shared.dot import OperandDims, sides_of
from .._shared.elementwise import is_used_once, numeric_shape
from .._shared.reduce_body import combiner_of
from .work import is_plain

_FEATURES = -1  # the label of the dimension that P does not have


class _Factors(NamedTuple):
    """A product of three kinds of factors.

    Attributes:
        matrix: dP, a product of matrices.
        weights: P, or exponentials.
        scales: values that are constant along the keys, each with whether it is a divisor.
    """

    matrix: hlo.DotGeneralOp
    weights: ir.Value
    scales: list[tuple[ir.Value, bool]]


class _Attention(NamedTuple):
    """O = P @ V, where P is the weights, or these divided by their sum over the keys.

    Attributes:
        op: the product.
        side: which operand P is.
        scales: the factors by which the weights differ from P, each with whether it is a divisor.
    """

    op: hlo.DotGeneralOp
    side: int
    scales: list[tuple[ir.Value, bool]]


class _Labels(NamedTuple):
    """The labels of the dimensions of a product and of its operand V.

    Attributes:
        result: the labels of the result's dimensions, None for those of extent 1.
        values: the labels of V's dimensions, before it is transposed.
        given: those of the other operand.
    """

    result: list[int | None]
    values: list[int | None]
    given: list[int | None]


@rule(reassociates, producer=hlo.MulOp, priced=True)
def sum_over_keys_to_features(op: hlo.ReduceOp) -> ir.Value | None:
    """sum over k of P * (dO @ V^T) -> sum over d of dO * (P @ V), where P @ V exists already.

    If there are fewer features than keys. The gradient of attention has such a sum. Instead of P it
    may have the exponentials that P divides by their sum. For f32 and f64: in bf16 the rounding of
    O made gradients 5 times less accurate.
    """
    if len(op.inputs) != 1 or len(op.dimensions) != 1 or combiner_of(op) != "add":
        return None
    if not is_splat(op.init_values[0], 0) or not is_used_once(op.inputs[0]):
        return None
    shape, (keys,) = numeric_shape(op.inputs[0]), op.dimensions
    if shape is None or not isinstance(element_type(op.inputs[0]), ir.F32Type | ir.F64Type):
        return None
    if shape[keys] == 1 or (found := _factors(op.inputs[0], keys)) is None:
        return None
    labels = _labels(shape)
    for side in (0, 1):
        of_matrix = _labels_of_matrix(found.matrix, side, labels, keys)
        if of_matrix is None:
            continue
        v = _untransposed(found.matrix.operands[side])
        features = shape_of(v)[of_matrix.values.index(_FEATURES)]
        if features >= shape[keys]:
            return None
        for attention in _attentions(found.weights, keys):
            of_result = _labels_of_result(attention, v, labels, keys)
            if of_result is None or of_result.values != of_matrix.values:
                continue
            if is_before(attention.op, op):
                given = found.matrix.operands[1 - side]
                aligned = [
                    _aligned(given, of_matrix.given),
                    _aligned(attention.op.result, of_result.result),
                ]
                return _sum_over_features(op, aligned, [*found.scales, *attention.scales])
    return None


def _labels(shape: Sequence[int]) -> list[int | None]:
    """The position of each dimension among those larger than 1; None for extents of 1."""
    numbers = iter(range(len(shape)))
    return [next(numbers) if size != 1 else None for size in shape]


def _factors(value: ir.Value, keys: int) -> _Factors | None:
    """The factors of `value`, a tree of multiplications and divisions that nothing else uses."""
    matrices, others, scales = [], [], []
    pending = [(value, False)]
    while pending:
        each, is_divisor = pending.pop()
        op = each.owner
        if _is_constant_along(each, keys):
            scales.append((each, is_divisor))
        elif is_divisor:
            return None
        elif (matrix := _matrix_of(each)) is not None:
            matrices.append(matrix)
        elif isinstance(op, hlo.MulOp | hlo.DivOp) and is_used_once(each):
            pending += [(op.lhs, False), (op.rhs, isinstance(op, hlo.DivOp))]
        else:
            others.append(each)
    if len(matrices) != 1 or len(others) != 1:
        return None
    return _Factors(matrices[0], others[0], scales)


def _matrix_of(value: ir.Value) -> hlo.DotGeneralOp | None:
    """The product that `value` equals up to dimensions of extent 1; None if it is none."""
    op, labels = value.owner, [size for size in shape_of(value) if size != 1]
    if isinstance(op, hlo.ReshapeOp):
        op = op.operand.owner
    if not isinstance(op, hlo.DotGeneralOp) or not is_plain(op):
        return None
    return op if [size for size in shape_of(op.result) if size != 1] == labels else None


def _is_constant_along(value: ir.Value, dim: int) -> bool:
    """Whether `value` is constant along dimension `dim`."""
    if splat_attr(value) is not None:
        return True
    match value.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            return all(to != dim or size == 1 for to, size in zip(dims, shape_of(x), strict=True))
    return False


def _attentions(weights: ir.Value, keys: int) -> Iterator[_Attention]:
    """The products of the weights, or of the weights divided by their sum over the keys."""
    for user in users(weights):
        yield from _products_of(user, weights, [])
        if isinstance(user, hlo.MulOp | hlo.DivOp):
            is_divided = isinstance(user, hlo.DivOp)
            other = user.rhs if user.lhs == weights else user.lhs
            if _is_normalizer(other, weights, keys) and (user.lhs == weights or not is_divided):
                for each in users(user.result):
                    yield from _products_of(each, user.result, [(other, not is_divided)])


def _is_normalizer(value: ir.Value, weights: ir.Value, keys: int) -> bool:
    """Whether `value` is the sum of exponentials over the keys, or its reciprocal: never 0."""
    inner = weights.owner
    if isinstance(inner, hlo.ReshapeOp):
        inner = inner.operand.owner
    if not _is_constant_along(value, keys) or not isinstance(inner, hlo.ExpOp):
        return False
    op = value.owner
    while isinstance(op, hlo.BroadcastInDimOp | hlo.ReshapeOp | hlo.DivOp):
        if isinstance(op, hlo.DivOp) and not is_splat(op.lhs, 1):
            return False
        op = op.rhs.owner if isinstance(op, hlo.DivOp) else op.operand.owner
    if not isinstance(op, hlo.ReduceOp) or combiner_of(op) != "add":
        return False
    return op.inputs[0] == weights and list(op.dimensions) == [keys]


def _products_of(
    user: ir.OpView, value: ir.Value, scales: list[tuple[ir.Value, bool]]
) -> Iterator[_Attention]:
    if isinstance(user, hlo.DotGeneralOp) and is_plain(user):
        for side in (0, 1):
            if user.operands[side] == value:
                yield _Attention(user, side, scales)


def _parts(op: hlo.DotGeneralOp) -> list[tuple[list[int], OperandDims]]:
    """For each operand its free dimensions, and the roles of the others."""
    pairs = zip(op.operands, sides_of(op), strict=True)
    return [(side.free(len(shape_of(value))), side) for value, side in pairs]


def _labels_of_matrix(
    matrix: hlo.DotGeneralOp, side: int, labels: list[int | None], keys: int
) -> _Labels | None:
    """The labels in dP = dO @ V^T, with V as operand `side`; None if V has other dimensions."""
    found = _labels(shape_of(matrix.result))
    parts, batch = _parts(matrix), len(sides_of(matrix)[0].batch)
    starts = [batch, batch + len(parts[0][0])]
    made = []
    for (free, dims), value, start in zip(parts, matrix.operands, starts, strict=True):
        own: list[int | None] = [None] * len(shape_of(value))
        for i, dim in enumerate(dims.batch):
            own[dim] = found[i]
        for i, dim in enumerate(free):
            own[dim] = found[start + i]
        for dim in dims.summed:
            own[dim] = _FEATURES if shape_of(value)[dim] != 1 else None
        made.append(own)
    own_free = [made[side][dim] for dim in parts[side][0]]
    is_single = made[side].count(_FEATURES) == 1
    if [label for label in own_free if label is not None] != [labels[keys]] or not is_single:
        return None
    values = _labels_before(matrix.operands[side], made[side])
    return _Labels(found, values, made[1 - side])


def _untransposed(value: ir.Value) -> ir.Value:
    return value.owner.operand if isinstance(value.owner, hlo.TransposeOp) else value


def _labels_before(value: ir.Value, labels: Sequence[int | None]) -> list[int | None]:
    """The labels of the dimensions of `value` before it is transposed."""
    if not isinstance(value.owner, hlo.TransposeOp):
        return list(labels)
    before = list(labels)
    for label, dim in zip(labels, value.owner.permutation, strict=True):
        before[dim] = label
    return before


def _labels_of_result(
    attention: _Attention, v: ir.Value, labels: list[int | None], keys: int
) -> _Labels | None:
    """The labels in O = P @ V; None if V is not the other operand, or keys are not contracted."""
    op, side = attention.op, attention.side
    operand = op.operands[1 - side]
    if _untransposed(operand) != v:
        return None
    parts = _parts(op)
    (free, dims), (other_free, other) = parts[side], parts[1 - side]
    if [labels[dim] for dim in dims.summed if labels[dim] is not None] != [labels[keys]]:
        return None
    values: list[int | None] = [None] * len(shape_of(operand))
    for of_v, of_p in zip(other.batch + other.summed, dims.batch + dims.summed, strict=True):
        values[of_v] = labels[of_p]
    for dim in other_free:
        values[dim] = _FEATURES if shape_of(operand)[dim] != 1 else None
    mine, theirs = [labels[dim] for dim in free], [values[dim] for dim in other_free]
    result = [labels[dim] for dim in dims.batch]
    result += [*mine, *theirs] if side == 0 else [*theirs, *mine]
    return _Labels(result, _labels_before(operand, values), labels)


def _aligned(value: ir.Value, labels: Sequence[int | None]) -> ir.Value:
    """`value` without dimensions of extent 1, in the order of labels, the features last."""
    kept = [label for label in _labels_before(value, labels) if label is not None]
    given = _untransposed(value)
    narrow = build.reshape(given, [size for size in shape_of(given) if size != 1])
    order = sorted(range(len(kept)), key=lambda i: (kept[i] == _FEATURES, kept[i]))
    return build.transpose(narrow, order)


def _sum_over_features(
    op: hlo.ReduceOp, factors: Sequence[ir.Value], scales: Sequence[tuple[ir.Value, bool]]
) -> ir.Value:
    """The sum of dO * O over the features, times or divided by the scales."""
    (keys,) = op.dimensions
    total = build.reduce_sum(hlo.multiply(*factors), [len(shape_of(factors[0])) - 1])
    total = build.reshape(total, shape_of(op.result))
    for value, is_divisor in scales:
        scale = _without(value, keys)
        total = hlo.divide(total, scale) if is_divisor else hlo.multiply(total, scale)
    return total


def _without(value: ir.Value, gone: int) -> ir.Value:
    """`value`, which is constant along dimension `gone`, without it."""
    shape = [size for dim, size in enumerate(shape_of(value)) if dim != gone]
    if (element := splat_attr(value)) is not None:
        return build.splat(element, ir.RankedTensorType.get(shape, element_type(value)))
    x, dims = value.owner.operand, list(value.owner.broadcast_dimensions)
    kept = [i for i, dim in enumerate(dims) if dim != gone]
    narrow = build.reshape(x, [shape_of(x)[i] for i in kept])
    return build.broadcast(narrow, shape, [dims[i] - (dims[i] > gone) for i in kept])
