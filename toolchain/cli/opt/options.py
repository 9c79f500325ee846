"""The options of `jxc opt`, and what they exclude."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from ...errors import UsageError
from ...files import require_file, require_folder
from ..options import SECONDS, PassOptions, PrintOptions, flag, option

if TYPE_CHECKING:
    from ...pipeline import Pipeline
    from .recipe import Recipe

SEPARATOR = "// -----"


@dataclass(frozen=True)
class OptOptions(PrintOptions, PassOptions):
    """The options of `jxc opt`, under the names of their flags."""

    list_passes: bool = flag(help="List every pass and level, then exit.")
    help_pass: str | None = option(metavar="NAME", help="Explain a pass or rule, then exit.")
    show_dialects: bool = flag(help="List the dialects whose ops are parsed, then exit.")
    dump_pass_pipeline: bool = flag(help="Print the pipeline to stderr first.")
    split_input_file: bool = flag(
        help=f"Process the modules between lines '{SEPARATOR}' one by one."
    )
    verify_each: bool = option(
        "--verify-each/--no-verify-each",
        default=True,
        help="Verify the module after each pass (default), or after the last.",
    )
    verify_diagnostics: str | None = option(
        type=click.Choice(["all", "only-expected"]),
        help="Check that the errors, warnings, notes and remarks are those of the comments "
        "'// expected-error@+1 {{text}}'. Without =only-expected, any other is an error.",
    )
    verify_roundtrip: bool = flag(
        help="Check that the module is the same when it is read back from its text and bytecode."
    )
    mlir_print_ir_before: tuple[str, ...] = option(
        multiple=True, metavar="PASS", help="Print the module before PASS."
    )
    mlir_print_ir_after: tuple[str, ...] = option(
        multiple=True, metavar="PASS", help="Print the module after PASS."
    )
    mlir_print_ir_before_all: bool = flag(help="Print before each pass.")
    mlir_print_ir_after_all: bool = flag(help="Print after each pass.")
    mlir_print_ir_after_change: bool = flag(help="Print after each pass that changes it.")
    mlir_print_ir_after_failure: bool = flag(help="Print after the pass that fails.")
    mlir_print_ir_module_scope: bool = flag(
        help="Print the whole module around passes on functions, too; jxc always does."
    )
    mlir_print_ir_tree_dir: str | None = option(
        metavar="DIR", help="Print around passes to files of their own below DIR."
    )
    mlir_timing: bool = flag(help="Print the time of each pass to stderr.")
    mlir_output_format: str | None = option(
        type=click.Choice(["text", "json"]), help="The form of --mlir-timing; text by default."
    )
    mlir_pass_statistics: bool = flag(help="Print hits, attempts and time of each rule to stderr.")
    log_actions_to: str | None = option(
        metavar="FILE", help="Log each pass and each application of a rule; '-' for stderr."
    )
    mlir_debug_counter: tuple[str, ...] = option(
        multiple=True,
        metavar="RULE-skip=N,RULE-count=N",
        help="Skip the first applications of RULE, and carry out only so many after them.",
    )
    mlir_print_debug_counter: bool = flag(help="Print how often each rule applied, to stderr.")
    why: bool = flag(
        help="Print why rules and replacements did not apply: --remarks-filter-missed for all."
    )
    remarks_filter: str | None = option(
        metavar="REGEX",
        help="Print why the rules whose names match REGEX left ops alone, and what they replaced.",
    )
    remarks_filter_missed: str | None = option(
        metavar="REGEX", help="Print why these rules left ops alone."
    )
    remarks_filter_passed: str | None = option(
        metavar="REGEX", help="Print what these rules replaced."
    )
    remarks_output_file: str | None = option(
        metavar="FILE", help="Write the remarks to FILE, in the YAML of LLVM's remarks."
    )
    emit_bytecode: bool = flag(help="Write MLIR bytecode.")
    emit_portable: bool = flag(help="Write a StableHLO portable artifact.")
    reproducer: str | None = option(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="If a pass fails, save the module to FILE, not to a temporary file.",
    )
    mlir_pass_pipeline_local_reproducer: bool = flag(
        help="Save the module before the pass that failed, with this pass alone."
    )
    mlir_generate_reproducer: str | None = option(
        metavar="FILE", help="Save a reproducer to FILE also if no pass fails."
    )
    run_reproducer: bool = flag(help="Run the pipeline that the reproducer FILE holds.")
    timeout: float | None = option(
        type=SECONDS,
        metavar="SECONDS",
        help="Stop with an error after this long; some inputs MLIR never finishes.",
    )
    mlir_disable_threading: bool = flag(help="Run MLIR's passes on one thread.")
    allow_unregistered_dialect: bool = flag(help="Accept ops of unregistered dialects.")
    as_json: bool = flag("--json", help="Print one JSON object with the module.")

    def with_recipe(self, recipe: Recipe) -> OptOptions:
        """The options of a run that repeats a failure.

        Raises:
            UsageError: a pipeline is given on the command line, too.
        """
        if self.has_pipeline:
            raise UsageError("--run-reproducer runs the pipeline of the file: give no -O, -p")
        return replace(
            self,
            passes=recipe.pipeline,
            verify_each=self.verify_each and recipe.verify_each,
            load_pass=(*recipe.load_pass, *self.load_pass),
        )

    def check(self, pipeline: Pipeline) -> None:
        """Refuse options that exclude others or have no effect, and files that cannot be written.

        Raises:
            UsageError: naming them.
        """
        names = {step.name for step in pipeline.steps}
        for printing in ("mlir_print_ir_before", "mlir_print_ir_after"):
            if unknown := [name for name in getattr(self, printing) if name not in names]:
                spelled = printing.replace("_", "-")
                raise UsageError(f"--{spelled} {unknown[0]}: no such pass in {pipeline}")
        if self.as_json + self.emit_bytecode + self.emit_portable > 1:
            raise UsageError("give one of --json, --emit-bytecode and --emit-portable")
        if self.remarks_output_file and not self.remark_filters:
            raise UsageError("--remarks-output-file needs --remarks-filter REGEX")
        if self.mlir_output_format and not self.mlir_timing:
            raise UsageError("--mlir-output-format needs --mlir-timing")
        if self.mlir_print_ir_tree_dir and not self.prints_around_passes:
            raise UsageError(
                "--mlir-print-ir-tree-dir needs an option such as --mlir-print-ir-after-all"
            )
        for file in (self.reproducer, self.mlir_generate_reproducer):
            if file is not None:
                require_file(file)
        if self.mlir_print_ir_tree_dir:
            require_folder(self.mlir_print_ir_tree_dir)

    @property
    def remark_filters(self) -> list[tuple[str, re.Pattern[str]]]:
        """The kind of remarks and the pattern of rule names of each filter that is given.

        Raises:
            UsageError: a pattern is malformed.
        """
        given = {
            "missed": [self.remarks_filter, self.remarks_filter_missed, "" if self.why else None],
            "passed": [self.remarks_filter, self.remarks_filter_passed],
        }
        try:
            return [(k, re.compile(t)) for k, each in given.items() for t in each if t is not None]
        except re.error as error:
            raise UsageError(f"--remarks-filter: invalid regular expression: {error}") from None

    @property
    def prints_around_passes(self) -> bool:
        """Whether the module is printed before or after some pass."""
        return bool(
            self.mlir_print_ir_before
            or self.mlir_print_ir_after
            or self.mlir_print_ir_before_all
            or self.mlir_print_ir_after_all
            or self.mlir_print_ir_after_change
            or self.mlir_print_ir_after_failure
        )
