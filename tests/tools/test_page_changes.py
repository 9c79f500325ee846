"""What a pass changed: which lines match, how values keep their names, and the hunks."""

from hypothesis import given, strategies as st

from jxc.pages.changes import NEW, ValueNames, align, hunks_of, shortest
from jxc.pages.stages import StageText


def test_value_names_are_kept_when_an_earlier_op_is_removed():
    before = _module("%0 = stablehlo.sine %arg0", "%1 = stablehlo.tanh %arg0", "return %1")
    after = _module("%0 = stablehlo.tanh %arg0", "return %0")
    same, pairs = ValueNames(before).keep(before, after)
    assert same.lines[2:4] == ("    %1 = stablehlo.tanh %arg0", "    return %1")
    (hunk,) = hunks_of(before, same, pairs)
    assert (hunk.start, hunk.removed, hunk.text, hunk.marks) == (2, 1, "", "")


def test_value_names_of_new_ops_are_unused_numbers():
    before = _module("%0 = stablehlo.sine %arg0", "%1 = stablehlo.tanh %0", "return %1")
    after = _module("%0 = stablehlo.cosine %arg0", "%1 = stablehlo.tanh %0", "return %1")
    same, pairs = ValueNames(before).keep(before, after)
    (hunk,) = hunks_of(before, same, pairs)
    assert hunk.text == "    %2 = stablehlo.cosine %arg0\n    %1 = stablehlo.tanh %2"
    assert hunk.marks == "+~"


def test_value_names_do_not_cross_functions():
    """The %0 of an inlined callee must not be renamed to a value of the caller."""
    before = _lines(
        "func.func @main(%arg0: tensor<f32>) {",
        "%0 = stablehlo.sine %arg0",
        "%1 = call @f(%0)",
        "}",
        "func.func @f(%arg0: tensor<f32>) {",
        "%0 = stablehlo.tanh %arg0",
        "}",
    )
    after = _lines(
        "func.func @main(%arg0: tensor<f32>) {",
        "%0 = stablehlo.sine %arg0",
        "%1 = stablehlo.tanh %0",
        "}",
    )
    same, _ = ValueNames(before).keep(before, after)
    assert same.lines[2] == "%2 = stablehlo.tanh %0"


def _module(*body):
    head = ("module @m {", "  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {")
    return _lines(*head, *(f"    {line}" for line in body), "  }", "}")


def _lines(*lines):
    return StageText("StableHLO", "stablehlo", lines, (0,) * len(lines))


@given(st.lists(st.integers(0, 4), max_size=14), st.lists(st.integers(0, 4), max_size=14))
def test_align_matches_equal_lines_in_order(before, after):
    found = align(before, after)
    kept = [i for i in found if i != NEW]
    assert len(found) == len(after) and kept == sorted(set(kept))
    assert all(i == NEW or before[i] == after[j] for j, i in enumerate(found))


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_shortest_matches_as_many_lines_as_possible(before, after):
    longest = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            best = max(longest[i][j + 1], longest[i + 1][j])
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == other else best
    assert len(shortest(before, after)) == longest[-1][-1]


def test_align_of_long_dissimilar_texts_is_fast():
    before = [i % 7 for i in range(6000)]
    after = [(i * i) % 11 for i in range(6000)]
    found = align(before, after)
    assert sum(i != NEW for i in found) > 1000
