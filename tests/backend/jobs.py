"""Jobs of two processes of `jax.distributed`, each with two CPU devices."""

import os
import socket
import subprocess
import sys
import textwrap

LIMIT = 240
"""Seconds for one job on a loaded machine with two cores; a job that hangs fails."""


WORKER = """
import os, sys
# Threads of Gloo write to the standard output at once, also between the words of one line.
sys.stdout = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
number, address = int(sys.argv[1]), sys.argv[2]
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    address, 2, number, heartbeat_timeout_seconds=60, shutdown_timeout_seconds=100
)
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import jxc
mesh = Mesh(np.array(jax.devices()), ("d",))
split = NamedSharding(mesh, PartitionSpec("d"))
values = np.random.default_rng(0).normal(size=(64, 700)).astype(np.float32)
x = jax.make_array_from_callback(values.shape, split, lambda index: values[index])
def f(x):
    return jax.lax.cummax(x, axis=1).sum()
plain = float(jax.jit(f)(x))
def check(found):
    assert abs(float(found) - plain) <= 1e-4 * abs(plain), (found, plain)
"""


def run_two(code, *arguments, **environment):
    """As `run_both`, for two processes that run `WORKER` and then `code`."""
    command = [sys.executable, "-c", WORKER + textwrap.dedent(code)]
    return run_both(command, *arguments, **environment)


def run_both(command, *arguments, own=({}, {}), **environment):
    """The outputs and the errors of a command that runs as both processes of a job.

    Args:
        command: its last arguments are the number of the process and the address of the job.
        arguments: added after these.
        own: variables of each process.
        environment: variables of both.
    """
    envs = [{**os.environ, "JAX_PLATFORMS": "cpu", **environment, **each} for each in own]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [
        subprocess.Popen([*command, str(i), address, *arguments], env=env, **pipes)
        for i, env in enumerate(envs)
    ]
    done = [_ended(each, started) for each in started]
    codes = [each.returncode for each in started]
    shown = "\n".join(f"process {i}, its errors:\n{errors}" for i, (_, errors) in enumerate(done))
    assert codes == [0, 0], f"exit codes {codes} (-9: killed after {LIMIT} s)\n{shown}"
    return [out for out, _ in done], [errors for _, errors in done]


def _ended(process, started):
    """The outputs of a process, which is killed with the others if it does not end in time."""
    try:
        return process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        for each in started:
            each.kill()
        return process.communicate()
