"""The first five minutes with an installed jxc: its commands on a small program, then `jxc.jit`.

`scripts/check_dist.py` runs this file outside the checkout, in a folder that it may write to. It
needs jxc and its required packages only, and exits with 1 at the first surprise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import jxc

MODEL = """\
import jax
import jax.numpy as jnp


def predict(params, x):
    return jax.nn.relu(jnp.transpose(jnp.transpose(x)) @ params["w"] + params["b"])


if __name__ == "__main__":
    step = jax.jit(predict)
    for rows in (4, 8):
        step({"w": jnp.ones((16, 8)), "b": jnp.ones(8)}, jnp.ones((rows, 16)))
"""
SPECS = ('{"w": f32[16,8], "b": f32[8]}', "f32[4,16]")


def main() -> int:
    Path("model.py").write_text(MODEL)
    command_line()
    python_interface()
    print("the tour ended well")
    return 0


def command_line() -> None:
    """Lower, optimize, compile, verify and explain, as the README does."""
    expect(jxc_command("--version"), "jxc ")
    jxc_command("lower", "model.py:predict", *SPECS, "-o", "step.mlir")
    expect(Path("step.mlir").read_text(), "stablehlo.transpose")
    jxc_command("opt", "-O2", "step.mlir", "-o", "fast.mlir")
    expect(Path("fast.mlir").read_text(), "stablehlo.dot_general")
    if "stablehlo.transpose" in Path("fast.mlir").read_text():
        sys.exit("jxc opt -O2 kept a transpose of a transpose")
    expect(jxc_command("verify", "step.mlir", "fast.mlir"), "same (")
    expect(jxc_command("compile", "fast.mlir", "--run"), "float32[4,8]")
    expect(jxc_command("report", "model.py:predict", *SPECS), "memory at peak")
    expect(jxc_command("explain", "model.py"), "predict was compiled again")
    jxc_command("compile", "model.py:predict", *SPECS, "--save", "step.jxc")
    expect(jxc_command("run", "step.jxc"), "float32[4,8]")


def jxc_command(*arguments: str) -> str:
    """The output of a command, both streams; the tour ends if the command fails."""
    program = Path(sys.executable).with_name("jxc")
    command = [str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    output = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"$ jxc {' '.join(arguments)}\n{output}exit code {done.returncode}")
    return output


def expect(output: str, text: str) -> None:
    if text not in output:
        sys.exit(f"expected {text!r} in\n{output}")


@jxc.jit(pipeline="O2", static_argnames="power")
def norm(x: jax.Array, power: int) -> jax.Array:
    return jnp.sum(jnp.abs(x) ** power) ** (1 / power)


def python_interface() -> None:
    """Compare `jxc.jit`, `jxc.lower` and `jxc.use` with numpy."""
    array = jnp.linspace(-2, 2, 24).reshape(4, 6)
    x = np.asarray(array)
    close(norm(array, power=2), np.sqrt((x * x).sum()))
    close(jax.vmap(lambda row: norm(row, power=2))(array), np.sqrt((x * x).sum(1)))

    low = jxc.lower(lambda a: jnp.transpose(jnp.transpose(a)).T @ a, array)
    fast = low.opt("O2")
    if fast.report is None or not fast.report.hits:
        sys.exit("O2 applied no rule to a transpose of a transpose")
    close(fast.compile()(x), x.T @ x)
    with jxc.use("O2"):
        close(jax.jit(jax.grad(lambda a: jnp.sum(jnp.sin(a))))(x), np.cos(x))


def close(found: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    sys.exit(main())
