"""Results of pipelines beside JAX's persistent cache: a second process runs no passes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache
from jaxlib.mlir.dialects.stablehlo import SubtractOp
from jaxlib.mlir.ir import Value

import jxc
from jxc.backend import pass_code
from jxc.backend.pass_cache import PassCache
from jxc.backend.store import Store
from jxc.ir import make_context
from jxc.pipeline import make_pipeline

PROGRAM = """
import sys
import jax, jax.numpy as jnp
import jxc

@jax.jit
def step(x):
    y = jnp.transpose(jnp.transpose(x)) @ x
    for i in range(8):
        y = jnp.tanh(y) * 1.5
    return y - y + x

with jxc.use("O2", strict=True) as log:
    result = step(jnp.ones((8, 8))).sum()
[program] = [each for each in log.compilations if each.name == "jit_step"]
passes = [each for each in sys.modules if each.startswith("jxc.passes.")]
print(program.from_cache, bool(passes), sum(program.report.hits.values()), float(result))
"""


def start(folder, program=PROGRAM, **environment):
    """A process with a persistent cache in `folder`."""
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder)}
    env |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", **environment}
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def run(folder, program=PROGRAM, **environment):
    """The last line that the program prints, as words."""
    process = start(folder, program, **environment)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.splitlines()[-1].split()


def entries(folder):
    return sorted(Path(folder, "jxc").glob("*.entry"))


def test_the_second_process_runs_no_passes_and_imports_none(tmp_path):
    first = run(tmp_path)
    executables = sorted(path.name for path in tmp_path.glob("*-cache"))
    second = run(tmp_path)
    assert first[:2] == ["False", "True"]
    assert second[:2] == ["True", "False"]
    assert second[2:] == first[2:]
    assert int(first[2]) > 0
    assert sorted(path.name for path in tmp_path.glob("*-cache")) == executables
    assert len(entries(tmp_path)) == 1


def test_jxc_pipeline_and_jxc_jit_use_the_cache(tmp_path):
    program = PROGRAM.replace('with jxc.use("O2", strict=True) as log:', "if True:")
    program = program.replace("import jxc\n", "import jxc.backend.hook as h\nlog = h.start_log()\n")
    assert run(tmp_path, program, JXC_PIPELINE="O2")[:2] == ["False", "True"]
    assert run(tmp_path, program, JXC_PIPELINE="O2")[:2] == ["True", "False"]
    program = program.replace("@jax.jit", "import jxc\n@jxc.jit")
    assert run(tmp_path, program)[:2] == ["True", "False"]


FOREIGN = [
    b'{"steps": []}\nML\xefR',
    b"[" * 100_000 + b"\n",
    b'{"steps": 1, "ops": []}\n',
    b"\xff\n",
]


@pytest.mark.parametrize("damage", [b"", b"text", "truncated", "foreign"])
def test_a_damaged_entry_is_ignored_and_replaced(tmp_path, damage):
    run(tmp_path)
    [path] = entries(tmp_path)
    whole = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(whole[:-10])
    elif damage == "foreign":
        Store(path.parent, 10_000).put(path.stem, FOREIGN[0])
    else:
        path.write_bytes(damage)
    assert run(tmp_path)[0] == "False"
    assert run(tmp_path)[:2] == ["True", "False"]


@pytest.mark.parametrize("data", FOREIGN, ids=["module", "deep", "types", "bytes"])
def test_an_entry_of_other_contents_is_removed(tmp_path, data):
    store = Store(tmp_path, 1_000_000)
    assert store.put("entry", data)
    assert PassCache(store, "entry").read(make_context()) is None
    assert store.entries() == []


def test_processes_at_the_same_time_share_the_cache(tmp_path):
    for process in [start(tmp_path) for _ in range(3)]:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert len(entries(tmp_path)) == 1
    assert run(tmp_path)[:2] == ["True", "False"]


def test_no_files_without_jax_cache(tmp_path):
    assert run(tmp_path, JAX_ENABLE_COMPILATION_CACHE="false")[0] == "False"
    assert not entries(tmp_path)
    assert run(tmp_path, JAX_COMPILATION_CACHE_MAX_SIZE="0")[0] == "False"
    assert not entries(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_harmless(tmp_path):
    (tmp_path / "jxc").write_text("a file in place of the folder")
    assert run(tmp_path)[0] == "False"
    assert run(tmp_path)[0] == "False"


def test_an_edited_pass_invalidates(tmp_path):
    """An editable installation: a copy of the package whose passes are edited."""
    root = Path(jxc.__file__).parent.parent
    spec = pass_code.importlib.util.find_spec("jxc.passes")
    package = tmp_path / "package" / "jxc"
    shutil.copytree(root / "toolchain" if (root / "toolchain").is_dir() else root / "jxc", package)
    shutil.copytree(spec.submodule_search_locations[0], package / "passes", dirs_exist_ok=True)
    for file in package.rglob("*.py"):
        os.utime(file, (1, 1))
    environment = {"PYTHONPATH": str(package.parent)}
    without_editable = "[each for each in sys.meta_path if '_Editable' not in repr(each)]"
    program = f"import sys; sys.meta_path[:] = {without_editable}\n{PROGRAM}"
    program += f"assert jxc.__file__.startswith({str(package)!r})"
    assert run(tmp_path, program, **environment)[:2] == ["False", "True"]
    assert run(tmp_path, program, **environment)[:2] == ["True", "False"]
    edited = package / "passes" / "simplify" / "algebra.py"
    edited.write_text(edited.read_text() + "\n# an edit\n")
    os.utime(edited, (1, 1))  # the contents count, not the time
    assert run(tmp_path, program, **environment)[:2] == ["False", "True"]
    assert len(entries(tmp_path)) == 2


@pytest.fixture
def cache(tmp_path):
    """A persistent cache for this process."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    compilation_cache.reset_cache()
    for name, value in settings.items():
        jax.config.update(name, value)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def compile_again(pipeline, function=lambda x: jnp.sin(x) - jnp.sin(x), **options):
    """Whether the result of a pipeline on a program comes from the cache."""
    jax.clear_caches()
    with jxc.use(pipeline, strict=True, **options) as log:
        jax.jit(lambda x: function(x) * 2.0)(np.ones((4, 9), np.float32))
    return [each.from_cache for each in log.compilations if "lambda" in each.name]


def test_the_log_says_that_a_result_comes_from_the_cache(cache):
    assert compile_again("simplify") == [False]
    jax.clear_caches()
    with jxc.use("simplify") as log:
        jax.jit(lambda x: x + 0 * x)(jnp.ones(3, jnp.int32))
    hits = log.hits
    jax.clear_caches()
    with jxc.use("simplify") as again:
        jax.jit(lambda x: x + 0 * x)(jnp.ones(3, jnp.int32))
    assert again.hits == hits
    assert hits
    assert "(from the cache)" in str(again)
    assert "from the cache: 3" in repr(again)
    assert again.compilations[0].report.seconds == 0


def test_the_key_covers_pipeline_assumptions_rates_and_program(cache, monkeypatch):
    assert compile_again("simplify,cse") == [False]
    assert compile_again("simplify,cse") == [True]
    assert compile_again("simplify{max-num-rewrites=1},cse") == [False]
    assert compile_again("simplify,cse", assume="no-nans") == [False]
    assert compile_again("simplify,cse", lambda x: jnp.cos(x)) == [False]
    rates = cache / "rates.json"
    rates.write_text('{"targets": {"cpu": {"sine-of-xla": 3.5}}}')
    monkeypatch.setenv("JXC_RATES", str(rates))
    assert compile_again("simplify,cse") == [False]
    assert compile_again("simplify,cse") == [True]


LIMIT = 3


def _is_wanted(op: SubtractOp) -> bool:
    return LIMIT == 3 and op.lhs == op.rhs


@jxc.rule(jxc.reassociates)
def same_to_left(op: SubtractOp) -> Value | None:
    """x - x -> x, which is wrong, if the limit is 3."""
    return op.lhs if _is_wanted(op) else None


@jxc.module_pass
def reads_a_file(module) -> None:
    """Do what a file says."""
    Path(__file__).read_text()


def test_a_users_rule_is_cached_by_its_code_and_what_it_refers_to(cache, monkeypatch):
    assert compile_again(same_to_left) == [False]
    assert compile_again(same_to_left) == [True]
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 4)
    assert compile_again(same_to_left) == [False]
    assert compile_again(same_to_left) == [True]


def test_a_pass_that_may_read_anything_is_not_cached(cache):
    assert compile_again(reads_a_file) == [False]
    assert compile_again(reads_a_file) == [False]
    assert not entries(cache)


def test_a_program_that_calls_back_into_python_is_not_cached(cache):
    def printing(x):
        jax.debug.print("{}", x.sum())
        return jnp.sin(x)

    compile_again("simplify,cse", printing)
    assert not entries(cache)


def test_code_edited_after_the_start_of_the_process_is_not_cached(cache, monkeypatch):
    pass_code.own_code.cache_clear()
    monkeypatch.setattr(pass_code, "_STARTED", 1.0)
    assert compile_again("simplify,dedup-constants") == [False]
    assert not entries(cache)
    pass_code.own_code.cache_clear()


def test_key_of_a_replacement_is_its_code():
    def make(factor):
        @jxc.replacement(jxc.reassociates, x="f32[n]", scale=float)
        def scaled(x, scale):
            return jnp.sin(x) * scale

        @scaled.search(scale=lambda m: factor / m.divisor, divisor=float)
        def divided(x, divisor):
            return jnp.sin(x) / divisor

        return pass_code.pipeline_key(make_pipeline([scaled]))

    assert make(1.0) == make(1.0)
    assert make(1.0) != make(2.0)
