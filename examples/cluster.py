"""Data-parallel training in several processes, which agree on each program before XLA compiles it.

python examples/cluster.py --processes 4

Each process stands for a host with two CPU devices. All of them train with plain JAX first, then
under jxc, and compare the losses. `--case` makes one process differ from the others.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

CASES = {
    "equal": "all processes are alike",
    "rates": "one has other measured rates",
    "pass": "a pass fails in one",
    "off": "one runs without jxc",
    "killed": "one is killed before it compiles",
}
STEPS, BATCH, SIZE, CLASSES = 4, 64, 16, 10


def start_all(options):
    """Start the processes and wait for them; returns whether each ended as it should."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    own = [sys.executable, __file__, *sys.argv[1:], "--address", address]
    started = [
        subprocess.Popen([*own, "--process", str(number)]) for number in range(options.processes)
    ]
    try:
        codes = [each.wait(options.limit) for each in started]
    except subprocess.TimeoutExpired:
        print(f"not finished after {options.limit} s", file=sys.stderr)
        return False
    finally:
        for each in started:
            each.kill()
    if any(codes):
        print(f"exit codes of the processes: {codes}", file=sys.stderr)
    return not any(codes)


def run_one(options):
    """One process of the job."""
    number, is_other = options.process, options.process == options.other
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    if options.case == "rates" and is_other:
        os.environ["JXC_RATES"] = other_rates()

    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        options.address, options.processes, number, heartbeat_timeout_seconds=10
    )
    plain = losses()
    if options.case == "killed" and is_other:
        os.kill(os.getpid(), signal.SIGKILL)
    if options.case == "off" and is_other:
        found, rewrites = losses(), "plain JAX"
    else:
        import jxc

        with jxc.use(pipeline(fails=is_other) if options.case == "pass" else "O2") as log:
            found = losses()
        rewrites = f"{log.hits.total()} rewrites"
    error = max(abs(a - b) for a, b in zip(plain, found, strict=True))
    text = f"process {number}: loss {found[0]:.4f} to {found[-2]:.4f}, {rewrites}"
    sys.stdout.write(f"{text}, differs from plain JAX by {error:.1e}\n")
    return error < 1e-3 and found[-2] < found[0]


def losses():
    """Train a small convolutional network; returns two numbers of each step."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))

    def split(array, *axes):
        sharding = NamedSharding(mesh, PartitionSpec(*axes))
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    def logits(params, images):
        x = jax.lax.conv_general_dilated(
            images, params["filters"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x - jnp.mean(x, axis=-1, keepdims=True))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.reshape(x.shape[0], -1) @ params["dense"]

    def loss(params, images, labels):
        each = -jnp.take_along_axis(
            jax.nn.log_softmax(logits(params, images)), labels[:, None], axis=1
        )
        return jnp.mean(each)

    @jax.jit
    def step(params, images, labels):
        value, gradients = jax.value_and_grad(loss)(params, images, labels)
        params = jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)
        brightest_so_far = jax.lax.cummax(images.reshape(images.shape[0], -1), axis=1)
        return params, value, jnp.mean(brightest_so_far)

    random = np.random.default_rng(0)
    inner = 8 * (SIZE // 2) ** 2
    params = {
        "filters": split(random.normal(0, 0.3, (3, 3, 3, 8)).astype(np.float32)),
        "dense": split(random.normal(0, 0.05, (inner, CLASSES)).astype(np.float32)),
    }
    images = split(random.normal(size=(BATCH, SIZE, SIZE, 3)).astype(np.float32), "data")
    labels = split(random.integers(0, CLASSES, BATCH).astype(np.int32), "data")
    found = []
    for _ in range(STEPS):
        params, value, brightness = step(params, images, labels)
        found += [float(value), float(brightness)]
    return found


def other_rates():
    """A file as `jxc calibrate` writes it, of a machine on which running sums are cheap."""
    contents = {"schema_version": 1, "targets": {"cpu": {"running-sum-of-xla": 0.01}}}
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(contents, file)
    return file.name


def pipeline(fails):
    """O2, and a pass that fails if asked to."""
    from jaxlib.mlir.ir import Operation

    import jxc

    @jxc.module_pass
    def check_machine(module: Operation) -> None:
        """Fail where the machine is not as the others."""
        if fails:
            raise RuntimeError("this machine has no free memory")

    return ["O2", check_machine]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    cases = "; ".join(f"{name}: {text}" for name, text in CASES.items())
    parser.add_argument("--case", choices=CASES, default="equal", help=cases)
    parser.add_argument("--other", type=int, default=1, help="the process that differs")
    parser.add_argument("--limit", type=float, default=300, help="seconds for all")
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    options = parse_options()
    ended_well = start_all(options) if options.process is None else run_one(options)
    sys.exit(0 if ended_well else 1)
