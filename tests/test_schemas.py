"""Every `--json` object has a JSON Schema, and the output of each command agrees with it."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from jxc.cli import cli

jsonschema = pytest.importorskip("jsonschema", reason="compares JSON with schemas")

ROOT = Path(__file__).parent.parent
SCHEMAS = ROOT / "toolchain/schemas"
PROGRAMS = ROOT / "tests/check/programs"
VERIFY_INPUTS = ROOT / "lit_tests/verify/Inputs"
NAMES = sorted(path.stem for path in SCHEMAS.glob("*.json"))

MODEL = """
import jax
import jax.numpy as jnp


def step(x, w):
    rows = x[jnp.arange(0, 512, 2)] * 2
    return jnp.abs(jnp.exp(jnp.transpose(jnp.transpose(rows)) @ w)).sum(0)


def root(w):
    return jnp.sqrt(w - 9).sum()


def scan(x):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ x), c.sum()), x, None, length=3)


def sharded(x, w):
    return jnp.tanh(x @ w).sum()
"""

SCRIPT = """
import jax
import numpy as np


@jax.jit
def step(batch):
    print("traced")
    return (batch * batch).sum()


@jax.jit
def branch(x):
    return x if x > 0 else -x


for length in (31, 32):
    step(np.ones((length, 8), np.float32))
try:
    branch(1.0)
except jax.errors.TracerBoolConversionError:
    pass
"""

STEPS = """
import jax
import jax.numpy as jnp
import numpy as np

step = jax.jit(lambda x: jnp.tanh(x @ x) + 1)
x = np.ones((300, 300), np.float32)
for number in range(4):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        step(x).block_until_ready()
"""

STEP = "model.py:step 'f32[512,64]' 'f32[64,64]'"
SQUARES = "'f32[64,64]' 'f32[64,64]'"

WRONG_SINE = f"--load-pass {VERIFY_INPUTS / 'wrong.py'} -p wrong-sine"

COMMANDS = {
    "lower": f"jxc lower {STEP} --json",
    "opt": "jxc opt -O2 small.mlir --json",
    "compile": f"jxc compile {STEP} --run --diff-plain --bench 2 --json",
    "compile with NaN": "jxc compile model.py:root 'f32[4]' -p locate-nans --run --json",
    "compile with values": "jxc compile model.py:scan 'f32[4,4]' --run --json "
    "-p 'trace-values{match=tanh}'",
    "compile to files": f"jxc compile {STEP} --emit stablehlo,hlo -o stages --save step.jxc --json",
    "compile to passes": f"jxc compile {STEP} --dump-hlo-passes passes --emit asm,ptx -o files "
    "--json",
    "compile for its cost": f"jxc compile {STEP} --emit cost --json",
    "report": f"jxc report model.py:sharded {SQUARES} --json --max-memory 1KiB "
    "--mesh data=4 --sharding 'x=data'",
    "report a refused program": "jxc report refused.mlir --json",
    "verify a wrong module": "jxc verify small.mlir wrong.mlir --seconds 5 --json",
    "verify a pipeline": f"jxc verify sine.mlir --json --bisect {WRONG_SINE}",
    "verify XLA": "jxc verify small.mlir --xla-bisect --json",
    "verify replacements": "jxc verify --replacement replacements.py --seconds 20 --json",
    "verify programs": f"jxc verify --conformance {PROGRAMS} --json {WRONG_SINE}",
    "verify faulty programs": f"jxc verify --conformance {VERIFY_INPUTS / 'conformance'} --json",
    "diff": f"jxc diff {STEP} -O0 -O2 --json",
    "diff of profiles": "jxc profile --json p.json steps.py >&2; jxc diff p.json p.json --json",
    "doctor": f"jxc doctor {STEP} --json",
    "doctor checks": "jxc doctor --list --json",
    "explain": "jxc explain --json log.json script.py >&2; cat log.json",
    "profile": "jxc profile --json - steps.py",
    "profile without jax": "jxc profile --json - empty.py",
    "targets": "jxc targets --json",
    "calibrate": "jxc calibrate --show --json",
    "tune": "jxc tune model.py:root 'f32[4]' --seconds 20 --json",
    "fit": f"jxc fit {STEP} --max-memory 1GiB --json",
    "fit over a mesh": f"jxc fit model.py:sharded {SQUARES} --devices 2 --json",
    "reduce": "jxc reduce small.mlir --check '! grep -q tanh {}' --json",
    "run": "jxc run step.jxc --trust --bench 1 --json",
    "tune list": "jxc tune ls --json",
}
AFTER = {"run": "compile to files", "tune list": "tune"}
"""Commands that read what another writes."""

SMALL = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.OP %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""

REFUSED = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @nobody_has_this(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

REPLACEMENTS = """
import jax
import jax.numpy as jnp
import jxc


@jxc.replacement(jxc.reassociates, x="f32[n,d]")
def swish(x):
    return x * jax.nn.sigmoid(x)


@swish.by
def fraction(x):
    return x / (1 + jnp.exp(-x))
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """What a command prints, as JSON; each runs once."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "model.py").write_text(MODEL)
    (folder / "steps.py").write_text(STEPS)
    (folder / "script.py").write_text(SCRIPT)
    (folder / "empty.py").write_text("")
    (folder / "refused.mlir").write_text(REFUSED)
    (folder / "replacements.py").write_text(REPLACEMENTS)
    (folder / "sine.mlir").write_text(SMALL.replace("OP", "add").replace("tanh", "sine"))
    (folder / "small.mlir").write_text(SMALL.replace("OP", "add"))
    (folder / "wrong.mlir").write_text(SMALL.replace("OP", "multiply"))
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "JAX_PLATFORMS": "cpu"}
    environment |= {"JXC_CACHE_DIR": str(folder / "cache"), "COLUMNS": "80"}

    @functools.cache
    def run(name):
        if name in AFTER:
            run(AFTER[name])
        done = subprocess.run(
            COMMANDS[name],
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=300,
        )
        assert done.stdout.strip(), f"$ {COMMANDS[name]}\n{done.stderr.decode()}"
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_output_agrees_with_the_schema(name, output):
    schema = json.loads((SCHEMAS / f"{name.split()[0]}.json").read_text())
    errors = jsonschema.Draft202012Validator(schema).iter_errors(output(name))
    best = [jsonschema.exceptions.best_match([error]) for error in errors]
    assert [f"{error.json_path}: {error.message}" for error in best] == []


def test_outputs_have_the_fields_that_are_often_null(output):
    """The schemas of these fields are compared with an object, not with null alone."""
    assert output("compile with NaN")["nans"]["operands"]
    assert output("compile with values")["values"]
    assert output("report")["targets"]["cpu"]["after"]["collectives"]
    assert output("report")["targets"]["cpu"]["findings"]
    assert output("explain")["reasons"] and output("explain")["effects"]
    assert output("explain")["failures"]
    assert output("verify a wrong module")["functions"][0]["difference"]
    assert output("verify a pipeline")["broken_by"] and output("verify a pipeline")["reduced"]
    assert output("verify replacements")["replacements"][0]["verdict"]
    assert output("verify programs")["outcomes"][0]["is_ours"]
    assert output("verify faulty programs")["outcomes"]
    assert output("compile to passes")["targets"]["cpu"]["xla_passes"]["changes"]
    assert output("compile to passes")["targets"]["cpu"]["lacking"]
    assert output("report a refused program")["targets"]["cpu"]["after"]["refused"]
    assert output("doctor")["findings"]
    assert output("profile")["steps"] and output("profile")["by"]["line"]
    assert output("diff")["difference"]["groups"]
    assert output("tune list")["verdicts"]


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_and_describes_every_field(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    objects = [each for each in nodes(schema) if each.get("type") == "object"]
    assert objects
    for each in objects:
        assert "properties" not in each or each["additionalProperties"] is False
        for field, value in each.get("properties", {}).items():
            assert value.get("description", "").endswith("."), f"{name}: {field}"


def nodes(schema):
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from nodes(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from nodes(each)


def verbs_with_json(command=cli, name=""):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            yield from verbs_with_json(command.get_command(context, each), name or each)
    elif any("--json" in option.opts for option in command.params):
        yield name


def test_every_command_with_json_has_a_schema_and_is_compared():
    verbs = set(verbs_with_json())
    assert "report" in verbs and "explain" in verbs
    assert verbs == set(NAMES) == {name.split()[0] for name in COMMANDS}


def test_a_field_without_a_schema_fails():
    schema = json.loads((SCHEMAS / "targets.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    target = {"name": "cpu", "what": "", "state": "present"}
    assert validator.is_valid({"schema_version": 1, "targets": [target]})
    assert not validator.is_valid({"schema_version": 1, "targets": [{**target, "new": 1}]})
    assert not validator.is_valid({"schema_version": 1, "targets": [{"name": "cpu"}]})


def test_page_names_every_object_and_its_program_runs(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import schemas

    page = schemas.json_page()
    assert all(f"(`schemas/{name}.json`)" in page for name in NAMES)
    assert "| `device.memory_bytes` | integer | Its memory in bytes;" in page
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(program, {})
