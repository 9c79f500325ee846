"""Behaviour of a new process: the environment variable, and JAX's persistent cache."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
import jax, jax.numpy as jnp
@jax.jit
def step(x):
    y = jnp.transpose(jnp.transpose(x)) @ x
    for i in range(8):
        y = jnp.tanh(y) * 1.5
    return y
print(step(jnp.ones((8, 8))).sum())
"""


def run(code, **environment):
    """Standard output and error of `code` in a process of its own."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


LISTENING = """
from jxc.backend import hook
log = hook.start_log()  # not jxc.use: it would create JAX's user context
compiled = []
__import__("jax").monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **kw: compiled.append(name)
)
"""

CALLED_TWICE = """
import numpy as np
@jax.jit
def first(x):  # called with a numpy array: JAX has not loaded its plugins before
    for i in range(9):
        x = jnp.tanh(x) * 1.5
    return x
first(np.ones(4)), first(np.ones(4))
print([c.name for c in log.compilations], sum("backend_compile" in name for name in compiled))
with jxc.use(None):
    first(np.ones(4))
print([c.name for c in log.compilations])
"""


def test_jxc_pipeline_rewrites_a_program_that_does_not_import_jxc():
    out, _ = run(LISTENING + PROGRAM + "print([c.name for c in log.compilations])", JXC_PIPELINE="")
    assert out.endswith("[]\n")
    out, _ = run(
        LISTENING + PROGRAM + "print([c.name for c in log.compilations])", JXC_PIPELINE="O2"
    )
    assert out.endswith("['jit_step']\n")


def test_jxc_pipeline_compiles_the_first_program_once():
    code = LISTENING + "import jax, jax.numpy as jnp, jxc\n" + CALLED_TWICE
    out, _ = run(code, JXC_PIPELINE="O1")
    assert out == "['jit_first'] 1\n['jit_first']\n"


def test_an_invalid_jxc_pipeline_warns_and_the_program_runs():
    out, err = run(PROGRAM, JXC_PIPELINE="simplifi")
    assert out == run(PROGRAM)[0]
    assert "JXC_PIPELINE='simplifi' has no effect: unknown pass or level 'simplifi'" in err
    assert "Traceback" not in err


def test_without_jxc_pipeline_nothing_is_imported():
    code = PROGRAM + "\nimport sys; print('jxc.backend.hook' in sys.modules)"
    assert run(code)[0].endswith("False\n")


CACHED = """
import jax, sys
from tests.backend.passes import X, expected, program, sine_to_cosine
import jxc, numpy as np
jax.config.update("jax_compilation_cache_dir", {directory!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda name, **kw: hits.append(name))
with jxc.use({pipeline}):
    result = jax.jit(program)(X)
print("cosine" if np.allclose(result, expected(np.cos), rtol=1e-3) else "sine")
print("hits", hits.count("/jax/compilation_cache/cache_hits"))
"""


def test_the_persistent_cache_keeps_pipelines_apart(tmp_path):
    """A second process hits the cache; one with another pipeline must not."""
    rewritten = CACHED.format(directory=str(tmp_path), pipeline="sine_to_cosine")
    plain = CACHED.format(directory=str(tmp_path), pipeline="None")
    assert run(rewritten)[0] == "cosine\nhits 0\n"
    assert run(plain)[0] == "sine\nhits 0\n"
    assert run(rewritten)[0] == "cosine\nhits 1\n"
    assert run(plain)[0] == "sine\nhits 1\n"
