"""Links of a page: from each line of a program, at each stage, to its Python source lines."""

import re

import pytest

from jxc.pages.links import Links, PythonFiles
from jxc.pages.payload import describe_programs
from jxc.pages.stages import read_stablehlo

from .page_program import CALL, RELU, SINE, TANH, lower_program, rebuilt, texts_of


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return texts_of(lower_program(tmp_path_factory.mktemp("user")), "O2", compiled=True)


@pytest.fixture(scope="module")
def described(texts):
    files = PythonFiles()
    return describe_programs([("model", texts)], files), files


def user_lines(description, files, link):
    """The lines of the user's module that a link leads to, innermost first."""
    stacks = [description["stacks"][number] for number in description["links"][link][1]]
    places = [description["frames"][place] for stack in stacks for place in stack]
    return [line for file, line, _ in places if files.paths[file].endswith("model_of_user.py")]


OPS = {  # text in the line of an op at each stage, and its Python source line
    "jaxpr": [(r"= tanh ", TANH), (r"= sin ", SINE), (r"= dot_general", TANH), (r"= max ", RELU)],
    "StableHLO": [
        (r"stablehlo.tanh", TANH),
        (r"stablehlo.sine", SINE),
        (r"call @relu", RELU),
        (r"stablehlo.maximum", RELU),  # in the private function @relu
        (r"stablehlo.dot_general", TANH),
    ],
    "optimized HLO": [(r" tanh\(", TANH), (r" sine\(", SINE), (r" maximum\(", RELU)],
}


@pytest.mark.parametrize("title", OPS)
def test_links_lead_to_the_python_line_of_an_op_at_every_stage(described, title):
    description, files = described
    lines, links, _ = rebuilt(description)[title]
    for pattern, expected in OPS[title]:
        found = [link for line, link in zip(lines, links, strict=True) if re.search(pattern, line)]
        assert found, (pattern, lines)
        assert {user_lines(description, files, link)[0] for link in found} == {expected}, pattern


def test_links_survive_every_pass(described):
    description, files = described
    stages = rebuilt(description)
    after = [stage for title, stage in stages.items() if title.startswith("after ")]
    assert len(after) >= 2
    for lines, links, _ in after:
        found = [k for text, k in zip(lines, links, strict=True) if "stablehlo.tanh" in text]
        assert len(found) == 2
        assert {user_lines(description, files, link)[0] for link in found} == {TANH}


def test_links_include_callers_but_no_frames_of_jax(described):
    description, files = described
    lines, links, _ = rebuilt(description)["StableHLO"]
    link = next(k for text, k in zip(lines, links, strict=True) if "stablehlo.tanh" in text)
    assert user_lines(description, files, link)[:2] == [TANH, CALL]
    assert not any("/jax/_src/" in files.paths[file] for file, _, _ in description["frames"])


def test_stage_texts_have_no_locations_and_no_metadata(described):
    for title, (lines, _, _) in rebuilt(described[0]).items():
        shown = "\n".join(lines)
        assert "loc(" not in shown and "#loc" not in shown, title
        assert "metadata=" not in shown and "StackFrames" not in shown, title
        assert "# /" not in shown and not re.search(r"@\d+@", shown), title


def test_hunks_rebuild_the_text_after_each_pass_up_to_names(described, texts):
    """The text rebuilt from hunks equals the module after the pass, up to the names of values."""
    stages = [s for t, s in rebuilt(described[0]).items() if t.startswith("after ")]
    assert len(stages) == len(texts.passes)
    for (lines, _, _), (name, text) in zip(stages, texts.passes, strict=True):
        plain = read_stablehlo(name, text, Links(PythonFiles())).lines
        assert [re.sub(r"%[\w.$-]+", "%", a) for a in lines] == [
            re.sub(r"%[\w.$-]+", "%", b) for b in plain
        ]
        main = [i for i, line in enumerate(plain) if "func.func" in line][:2]
        span = slice(main[0], main[1] if len(main) > 1 else None)
        before = re.findall(r"%[\w.$-]+", "\n".join(plain[span]))
        after = re.findall(r"%[\w.$-]+", "\n".join(lines[span]))
        assert len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))
