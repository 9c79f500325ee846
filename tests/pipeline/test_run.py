"""Pipelines run from Python: copies, reports, invariants."""

import re
import stat
import tempfile

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

import jxc
from jxc.errors import JxcError, UsageError
from jxc.ir import make_context, read_module, write_text
from jxc.pipeline import Invariants, Library, PassError, make_pipeline, our_passes, run_pipeline
from jxc.pipeline.reproducer import write_reproducer
from jxc.rewrite import PassContext, driver, module_pass, rule_pass

TEXT = """
module @m {
  func.func public @main(%x: tensor<4x4xi32> {tf.aliasing_output = 0 : i32}) -> tensor<4x4xi32> {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>
    stablehlo.custom_call @log(%1) {has_side_effect = true} : (tensor<4x4xi32>) -> ()
    return %1 : tensor<4x4xi32>
  }
}
"""


@pytest.fixture
def module():
    return read_module(TEXT, make_context())


def test_opt_copies_the_module(module):
    before = write_text(module)
    after = jxc.opt(module, "simplify")
    assert write_text(module) == before
    assert "transpose" not in write_text(after)


def test_opt_accepts_text():
    assert "transpose" not in write_text(jxc.opt(TEXT, "simplify"))


def test_report_counts_the_hits_of_a_rule_run_by_name(module):
    report = run_pipeline(module, make_pipeline("transpose-of-transpose"), PassContext())
    assert report.hits == {"transpose-of-transpose": 1}
    assert report.seconds > 0


def test_rule_pass_options_disable_rules_and_limit_rewrites(module):
    jxc_opt = "simplify{disable-patterns=transpose-of-transpose}"
    assert write_text(jxc.opt(module, jxc_opt)).count("stablehlo.transpose") == 2
    assert write_text(jxc.opt(module, "simplify{max-num-rewrites=0}")) == write_text(module)
    with pytest.raises(UsageError, match="has no rule 'nothing'"):
        jxc.opt(module, "simplify{disable-patterns=nothing}")


def change(function):
    """A pass that calls `function` on the operation of the module."""

    def changing(module):
        function(module)

    changing.__doc__ = "Change what must hold."
    return module_pass(changing)


def main_of(module):
    return module.regions[0].blocks[0].operations[0]


def erase_call(module):
    block = main_of(module).regions[0].blocks[0]
    next(op for op in block.operations if op.operation.name == "stablehlo.custom_call").erase()


def drop_aliasing(module):
    main_of(module).attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({})])


def rename_module(module):
    module.attributes["sym_name"] = ir.StringAttr.get("other")


def rename_main(module):
    main_of(module).attributes["sym_name"] = ir.StringAttr.get("not_main")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (erase_call, "an op with side effects was removed: custom_call @log"),
        (drop_aliasing, "argument 0 had tf.aliasing_output = 0 : i32, now none"),
        (rename_module, 'attribute sym_name was "m", now "other"'),
        (rename_main, "@main was removed"),
    ],
)
def test_broken_invariant_is_an_error(module, function, message):
    with pytest.raises(PassError, match=message):
        jxc.opt(module, change(function))


def test_pass_error_has_the_pipeline_that_reproduces_it(module):
    with pytest.raises(PassError) as caught:
        jxc.opt(module, ["cse", change(rename_main), "symbol-dce"])
    assert str(caught.value.prefix) == "builtin.module(cse,changing)"
    assert not caught.value.ours


def test_invariants_accept_a_module_without_main():
    module = read_module("func.func @f() { return }", make_context())
    Invariants.of(module).check(module)
    jxc.opt(module, "cse")


def test_native_conversions_may_change_dialects(module):
    assert "vhlo.func_v1" in write_text(jxc.opt(module, "stablehlo-legalize-to-vhlo"))


def test_pass_has_the_name_of_its_file():
    names = [p.name for p in our_passes()]
    assert names == sorted(names)
    assert {"simplify", "dedup-constants", "convolution", "annotate-cost"} <= set(names)
    assert all(p.doc for p in our_passes())


def test_rule_pass_without_rules_does_nothing(module):
    before = write_text(module)
    run_pipeline(module, make_pipeline(rule_pass("nothing", "Do nothing.", [])), PassContext())
    assert write_text(module) == before


def test_malformed_module_is_an_error_with_line_and_column():
    with pytest.raises(JxcError, match=r"<module>:1:25: use of undeclared SSA value name"):
        jxc.opt("func.func @f() { return %x : tensor<f32> }", "cse")


def test_pass_of_rules_is_skipped_in_a_module_without_their_ops(monkeypatch):
    ran = []
    apply_rules = driver.apply_rules
    monkeypatch.setattr(
        driver, "apply_rules", lambda *args, **kwargs: ran.append(1) or apply_rules(*args, **kwargs)
    )
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    module = read_module(text, make_context())
    report = run_pipeline(module, make_pipeline("convolution"), PassContext())
    assert not ran and {count.tries for count in report.steps[0].rules} == {0}
    with pytest.raises(UsageError, match="has no rule 'nothing'"):
        run_pipeline(module, make_pipeline("convolution{disable-patterns=nothing}"), PassContext())


def test_pass_is_skipped_in_a_module_without_the_ops_that_it_needs(module):
    seen = []

    @module_pass(needs=(hlo.SortOp,))
    def sorts(module: ir.Operation) -> None:
        """Do nothing."""
        seen.append(module)

    run_pipeline(module, make_pipeline(sorts), PassContext())
    assert not seen


@pytest.mark.parametrize(
    ("pipeline", "offer"), [("o2", "Did you mean 'O2'? "), ("fast", ""), ("O4", "")]
)
def test_unknown_level_lists_the_levels(pipeline, offer):
    with pytest.raises(UsageError) as caught:
        jxc.opt(TEXT, pipeline)
    expected = f"unknown pass or level {pipeline!r}. {offer}The levels are O0, O1, O2, O3;"
    assert str(caught.value).startswith(expected)


def test_o3_is_an_alias_of_o2():
    assert str(make_pipeline("O3")) == str(make_pipeline("O2"))


def test_report_has_a_line_as_repr_and_tables_as_text(module):
    report = run_pipeline(module, make_pipeline("simplify,cse"), PassContext())
    assert re.fullmatch(r"<PipelineReport: 2 passes, \d+ rewrites, \d\.\d{3} s>", repr(report))
    assert "Pass execution timing report" in str(report)
    assert "simplify: transpose-of-transpose" in str(report)
    assert "<td>simplify</td>" in report._repr_html_()


def test_rules_and_passes_have_a_line_as_repr():
    simplify = make_pipeline("simplify").steps[0].python
    assert re.fullmatch(r"<jxc pass simplify, \d+ rules: .*>", repr(simplify))
    (rule,) = (each for each in simplify.rules if each.name == "add-zero")
    assert repr(rule).startswith("<jxc rule add-zero, exact: x + -0 -> x")


OVER_DEVICES = """module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>})
      -> (tensor<4x4xf32> {jax.result_info = "result"}, tensor<4x4xf32>) {
    %0 = stablehlo.negate %x : tensor<4x4xf32>
    %1 = stablehlo.reverse %0, dims = [1] : tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
"""


def test_results_keep_their_shardings_over_devices(library):
    """The pass computes a result in a way through which no sharding propagates."""
    context = make_context()
    module = read_module(OVER_DEVICES, context)
    run_pipeline(module, make_pipeline("hide", library), PassContext())
    main = jxc.ir.functions(module)["main"]
    hidden, other = (str(each) for each in ir.ArrayAttr(main.attributes["res_attrs"]))
    assert (
        hidden == '{jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}'
    )
    assert other == "{}"


@pytest.fixture
def library():
    @module_pass
    def hide(module: ir.Operation) -> None:
        """Return the first result through a call of an unknown function."""
        main = jxc.ir.functions(module)["main"]
        end = main.regions[0].blocks[0].operations[2]
        value = end.operands[0]
        with ir.InsertionPoint(end):
            attributes = {"call_target_name": ir.StringAttr.get("unknown")}
            call = ir.Operation.create(
                "stablehlo.custom_call", [value.type], [value], attributes=attributes
            )
        end.operands[0] = call.result

    return Library({"hide": hide})


def test_passes_that_change_no_sharding_add_no_annotation():
    twice = "%n = stablehlo.negate %x : tensor<4x4xf32>\n    %0 = stablehlo.negate %n"
    after = write_text(jxc.opt(OVER_DEVICES.replace("%0 = stablehlo.negate %x", twice), "O2"))
    assert "negate" not in after
    assert after.count("sdy.sharding =") == 1


def test_reproducers_are_private_and_follow_no_link(tmp_path, monkeypatch):
    """Another user may have made a link with the expected name in the temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "jxc-reproducer-0.mlir").symlink_to(tmp_path / "victim")
    pipeline = make_pipeline("simplify")
    written = write_reproducer(TEXT, PassError("a reason", pipeline.steps[0], pipeline, ours=True))
    assert written == tmp_path / "jxc-reproducer-1.mlir"
    assert not (tmp_path / "victim").exists()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert "@log" in written.read_text()
