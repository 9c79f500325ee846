"""A small program in a separate file, its texts at every stage, and stages rebuilt from hunks."""

import importlib.util

import jax.numpy as jnp

import jxc
from jxc.backend.log import PassTexts, ProgramTexts, text_to_read
from jxc.ir import clone_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

PROGRAM = '''\
import jax
import jax.numpy as jnp


def layer(w, x):
    return jnp.tanh(x @ w)


def model(w, x):
    for _ in range(2):
        x = layer(w, x)
    y = jax.nn.relu(x)
    """A string of
    two lines."""
    return jnp.sin(y) * jnp.arange(200.0).sum()
'''
TANH, CALL, RELU, SINE = (
    1 + next(k for k, line in enumerate(PROGRAM.split("\n")) if word in line)
    for word in ("tanh", "= layer(w, x)", "nn.relu", "jnp.sin")
)
"""Lines of the program."""


def import_program(folder):
    """The program, imported from a file in `folder` like a module of the user."""
    file = folder / "model_of_user.py"
    file.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("model_of_user", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lower_program(folder):
    return jxc.lower(import_program(folder).model, jnp.ones((4, 4)), jnp.ones((2, 4)))


def texts_of(lowered, pipeline="", *, compiled=False):
    """The texts of a lowered program at each stage, as recording keeps them."""
    module, passes = clone_module(lowered.module), PassTexts()
    if pipeline:
        context = PassContext("cpu", frozenset())
        run_pipeline(module, make_pipeline(pipeline), context, instruments=[passes])
    return ProgramTexts(
        jaxpr=lowered.jaxpr,
        stablehlo=text_to_read(lowered.module),
        passes=tuple(passes.texts),
        hlo=lowered.opt(pipeline).compile().as_text() if compiled else "",
    )


def rebuilt(description, program=0):
    """The stages of a program as the page's script makes them: title -> (lines, links, marks)."""
    made = []
    for number, each in enumerate(description["programs"]):
        made.append([])
        for stage in each["stages"]:
            made[number].append(_stage(stage, made))
    titles = [stage["title"] for stage in description["programs"][program]["stages"]]
    return dict(zip(titles, made[program], strict=True))


def _stage(stage, made):
    if "base" not in stage:
        return stage["text"].split("\n"), stage["links"], None
    (lines, links, _), at, found = made[stage["base"][0]][stage["base"][1]], 0, ([], [], [])
    for start, removed, text, new_links, marks in stage["hunks"]:
        for kept, all_of in zip(found, (lines, links, " " * len(lines)), strict=True):
            kept.extend(all_of[at:start])
        new = (text.split("\n") if new_links else [], new_links, marks)
        for kept, added in zip(found, new, strict=True):
            kept.extend(added)
        at = start + removed
    for kept, all_of in zip(found, (lines, links, " " * len(lines)), strict=True):
        kept.extend(all_of[at:])
    return found
