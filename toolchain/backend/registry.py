"""Pipelines under the short names by which JAX's caches, and stamps on modules, know them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..pipeline import Pipeline, PipelineLike, make_pipeline
from ..rewrite import promises


@dataclass(frozen=True)
class Registered:
    """What a name stands for: a pipeline, and how it is run.

    Attributes:
        pipeline: the passes.
        strict: whether a failing pass raises, instead of leaving the program as it was.
        assume: the user's promises.
    """

    pipeline: Pipeline
    strict: bool = False
    assume: frozenset[str] = frozenset()


_registered: dict[str, Registered] = {}
_lock = threading.Lock()


def register(
    pipeline: PipelineLike, *, strict: bool = False, assume: str | Sequence[str] = ()
) -> str:
    """Name a pipeline; the same one gets the same name.

    Returns:
        The level or text as the user wrote it, with a number where that is taken.

    Raises:
        UsageError: the pipeline names an unknown pass or option, or a promise is unknown; or one of
            the passes adds results, which JAX, whose programs these are, would not know.
    """
    made = Registered(make_pipeline(pipeline), strict, promises(assume))
    _refuse_added_results(made.pipeline)
    label = pipeline if isinstance(pipeline, str) else ",".join(map(str, made.pipeline.steps))
    label = " ".join([label, *sorted(made.assume), *(["strict"] if strict else [])])
    with _lock:
        number, name = 1, label
        while _registered.setdefault(name, made) != made:
            number, name = number + 1, f"{label} #{number + 1}"
    return name


def _refuse_added_results(pipeline: Pipeline) -> None:
    for step in pipeline.steps:
        if step.python is not None and step.python.adds_results:
            drop_in = "jxc.locate_nans(fn) in place of jax.jit(fn), "
            raise UsageError(
                f"{step.name} adds results to a program, and how many a program has is settled "
                "where JAX compiles it (jxc.use, jxc.enable, jxc.jit, JXC_PIPELINE). Use "
                f"{drop_in if step.name == 'locate-nans' else ''}"
                f"jxc.lower(fn, ...).opt({str(step)!r}).compile(), or `jxc compile --run`"
            )


def find(name: str) -> Registered:
    """What a name stands for; one from another process (it came with jax.export) is read as text.

    Raises:
        UsageError: it is neither registered nor the text of a pipeline.
    """
    return _registered.get(name) or Registered(make_pipeline(name))
