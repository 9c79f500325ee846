"""The options of `jxc opt`, and what they exclude."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ...errors import UsageError
from ...files import require_file, require_folder
from ..options import PassOptions, PrintOptions, flag, option

if TYPE_CHECKING:
    from ...pipeline import Pipeline
    from ...rewrite import Remark
    from .recipe import Recipe

SEPARATOR = "// -----"


@dataclass(frozen=True)
class OptOptions(PrintOptions, PassOptions):
    """The options of `jxc opt`, under the names of their flags."""

    mlir_print_local_scope: bool = flag(
        help="Print types, attributes and locations in full, without aliases."
    )
    mlir_use_nameloc_as_prefix: bool = flag(help="Name values after their named locations.")
    elide: int | None = option(
        "--mlir-elide-elementsattrs-if-larger",
        type=click.IntRange(min=0),
        metavar="N",
        help="Omit constants of more than N elements, and longer resources; such a module cannot "
        "be compiled.",
    )
    list_passes: bool = flag(help="List every pass and level, then exit.")
    help_pass: str | None = option(metavar="NAME", help="Explain a pass or rule, then exit.")
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
    mlir_print_ir_tree_dir: str | None = option(
        metavar="DIR", help="Print around passes to files of their own below DIR."
    )
    mlir_timing: bool = flag(help="Print the time of each pass to stderr.")
    mlir_pass_statistics: bool = flag(help="Print hits, attempts and time of each rule to stderr.")
    mlir_debug_counter: tuple[str, ...] = option(
        multiple=True,
        metavar="RULE-skip=N,RULE-count=N",
        help="Skip the first applications of RULE, and carry out only so many after them.",
    )
    why: bool = flag(
        help="Print why rules and replacements did not apply. --remarks-filter . also prints "
        "what they replaced."
    )
    remarks_filter: str | None = option(
        metavar="REGEX",
        help="Print what the rules whose names match REGEX replaced, and why they left other ops "
        "alone. '.' matches all rules.",
    )
    remarks_output_file: str | None = option(
        metavar="FILE", help="Write the remarks to FILE, in the YAML of LLVM's remarks."
    )
    emit_bytecode: bool = flag(help="Write MLIR bytecode.")
    reproducer: str | None = option(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="If a pass fails, save the module to FILE, not to a temporary file.",
    )
    run_reproducer: bool = flag(help="Run the pipeline that the reproducer FILE holds.")
    allow_unregistered_dialect: bool = flag(help="Accept ops of unregistered dialects.")
    as_json: bool = flag("--json", help="Print one JSON object with the module.")

    def text_options(self, file: str) -> dict[str, Any]:
        return super().text_options(file) | {
            "local_scope": self.mlir_print_local_scope,
            "name_locations": self.mlir_use_nameloc_as_prefix,
            "elide_larger_than": self.elide,
        }

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
        if self.as_json and self.emit_bytecode:
            raise UsageError("give one of --json and --emit-bytecode")
        if self.remarks_output_file and not self.has_remarks:
            raise UsageError("--remarks-output-file needs --remarks-filter REGEX or --why")
        try:
            re.compile(self.remarks_filter or "")
        except re.error as error:
            raise UsageError(f"--remarks-filter: invalid regular expression: {error}") from None
        if self.mlir_print_ir_tree_dir and not self.prints_around_passes:
            raise UsageError(
                "--mlir-print-ir-tree-dir needs an option such as --mlir-print-ir-after-all"
            )
        for file in (self.reproducer, self.remarks_output_file):
            if file is not None:
                require_file(file)
        if self.mlir_print_ir_tree_dir:
            require_folder(self.mlir_print_ir_tree_dir)

    @property
    def has_remarks(self) -> bool:
        """Whether remarks are printed or written."""
        return self.why or self.remarks_filter is not None

    def selects(self, remark: Remark) -> bool:
        """Whether a remark is printed: by its kind for `--why`, by its rule for the filter."""
        is_chosen = self.remarks_filter is not None and re.search(self.remarks_filter, remark.rule)
        return bool(is_chosen) or (self.why and remark.kind == "missed")

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
