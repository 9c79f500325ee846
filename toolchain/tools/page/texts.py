"""The texts of a program at each stage, from values of jxc's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backend.hook import kind_of_platform
from ...backend.log import Passes, text_to_read
from ...ir import clone_module
from ...pipeline import PipelineLike, make_pipeline, run_pipeline
from ...rewrite import PassContext
from ..explain.records import Texts

if TYPE_CHECKING:
    from ...backend.lowered import CrossExecutable, Executable, Lowered


def texts_of(
    lowered: Lowered,
    pipeline: PipelineLike = "",
    executable: Executable | CrossExecutable | None = None,
) -> Texts:
    """What a page shows of a lowered program.

    Args:
        lowered: the program as JAX lowered it; it stays as it is.
        pipeline: whose passes are to be shown; empty for none.
        executable: what XLA made of the result; there is no HLO where it is None.
    """
    module = clone_module(lowered.module)
    watch = Passes()
    if pipeline:
        context = PassContext(kind_of_platform(lowered.platform), frozenset())
        run_pipeline(module, make_pipeline(pipeline), context, instruments=[watch])
    return Texts(
        jaxpr=lowered.jaxpr if lowered.has_jaxpr else None,
        stablehlo=text_to_read(lowered.module),
        passes=tuple(watch.texts),
        hlo=executable.as_text() if executable else "",
    )
