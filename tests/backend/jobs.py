"""Jobs of two processes of `jax.distributed`, each with two CPU devices."""

import os
import re
import socket
import subprocess
import sys
import textwrap

LIMIT = 240
"""Seconds for one job on a loaded machine with two cores; a job that hangs fails."""


WORKER = """
import os, sys
number, address = int(sys.argv[1]), sys.argv[2]
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    address, 2, number, heartbeat_timeout_seconds=10, shutdown_timeout_seconds=20
)
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import jxc
mesh = Mesh(np.array(jax.devices()), ("d",))
split = NamedSharding(mesh, PartitionSpec("d"))
values = np.random.default_rng(0).normal(size=(64, 768)).astype(np.float32)
x = jax.make_array_from_callback(values.shape, split, lambda index: values[index])
def f(x):
    return jax.lax.cummax(x, axis=1).sum()
plain = float(jax.jit(f)(x))
def check(found):
    assert abs(float(found) - plain) <= 1e-4 * abs(plain), (found, plain)
"""


def run_two(code, *arguments, **environment):
    """The outputs and the errors of two processes that run `WORKER` and then `code`."""
    command = [sys.executable, "-c", WORKER + textwrap.dedent(code)]
    return run_both(command, *arguments, **environment)


def run_both(command, *arguments, **environment):
    """The outputs and the errors of a command that runs as both processes of a job."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": env}
    started = [subprocess.Popen([*command, str(i), address, *arguments], **pipes) for i in range(2)]
    try:
        done = [each.communicate(timeout=LIMIT) for each in started]
    finally:
        for each in started:
            each.kill()
    for each, (_, errors) in zip(started, done, strict=True):
        assert each.returncode == 0, errors
    clean = [re.sub(r"^\[Gloo\].*\n", "", out, flags=re.MULTILINE) for out, _ in done]
    return clean, [errors for _, errors in done]
