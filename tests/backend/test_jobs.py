"""Tools in a job of several processes: saved programs, caches, `jxc explain`, hash seeds."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .jobs import LIMIT, WORKER, run_both, run_two


def test_saved_programs_are_of_one_process_and_run_in_any(tmp_path):
    run_two(
        """
        from jxc.backend import job
        file = f"{sys.argv[3]}/{number}.jxc"
        try:
            jxc.save(jxc.lower(f, x).compile(), file)
        except jxc.JxcError as error:
            assert "it spans 2 processes" in str(error), error
        else:
            raise AssertionError("expected an error")
        own = Mesh(np.array(jax.local_devices()), ("d",))
        for local in (values, jax.device_put(values, NamedSharding(own, PartitionSpec("d")))):
            jxc.save(jxc.lower(f, local).compile(), file)
            found = jxc.load(file)(local)
            assert found.devices() <= set(jax.local_devices())
            check(found)
        store = job.session().store
        store.put(f"test/{number}", "saved")
        assert store.wait(f"test/{1 - number}", 100_000)
        other = jxc.load(f"{sys.argv[3]}/{1 - number}.jxc")(values)
        assert other.devices() == set(jax.local_devices())  # XLA numbers them in another way there
        check(other)
        """,
        str(tmp_path),
    )


def test_explain_in_each_process_and_merged(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        WORKER + "step = jax.jit(lambda x: jnp.sin(x) * 2)\n"
        "for size in range(2, 4 + number):\n    step(np.ones(size))\n"
    )
    logs = str(tmp_path / "log-%p.json")
    jxc_explain = [str(Path(sys.executable).with_name("jxc")), "explain"]
    run_both([*jxc_explain, "--json", logs, str(script)])
    files = [str(tmp_path / f"log-{number}.json") for number in range(2)]
    run_explain = [*jxc_explain, "--merge", *files]
    merged = subprocess.run(run_explain, capture_output=True, text=True, timeout=LIMIT)
    assert merged.returncode == 0, merged.stderr
    assert "2 processes" in merged.stdout
    assert re.search(
        r"job.py:\d+: <lambda>: 2 programs in process 0; 3 .* process 1", merged.stdout
    )
    again = subprocess.run(
        [*jxc_explain, "--merge", files[0], files[0]], capture_output=True, text=True, timeout=LIMIT
    )
    assert again.returncode == 2
    assert "found a second one of process 0" in again.stderr


SEEDED = """
import hashlib, pathlib, sys
from jxc.ir import make_context, read_module, write_text
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext
for file in sys.argv[1:]:
    for text in pathlib.Path(file).read_text().split("// -----"):
        module = read_module(text, make_context())
        run_pipeline(module, make_pipeline("O2"), PassContext("cpu"))
        print(pathlib.Path(file).name, hashlib.sha256(write_text(module).encode()).hexdigest())
"""


def test_results_of_o2_do_not_depend_on_the_hash_seed():
    folder = Path(__file__).parents[2] / "lit_tests" / "passes"
    files = sorted(map(str, folder.rglob("*.mlir")))[::4]
    command = [sys.executable, "-c", SEEDED, *files]
    found = [
        subprocess.run(
            command,
            env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": seed},
            capture_output=True, text=True, timeout=LIMIT,
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    assert [each.returncode for each in found] == [0, 0], found[0].stderr
    assert len(found[0].stdout.splitlines()) >= len(files) > 10
    assert found[0].stdout == found[1].stdout
