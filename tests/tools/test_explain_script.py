"""A program has the same exit code or signal under `jxc explain` as under Python."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and forks are POSIX's")


def run(tmp_path, text, *flags):
    """The same program under plain Python and under `jxc explain`."""
    script = tmp_path / "script.py"
    script.write_text(text)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    jxc = (sys.executable, "-c", "from jxc.cli import main; main()")
    commands = (*jxc, "explain", *flags), (sys.executable,)
    explained, plain = (
        subprocess.run(
            [*command, str(script)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        for command in commands
    )
    return explained, plain


INTERRUPTED = """
import atexit, os, signal
import jax
atexit.register(print, "at the end")
jax.jit(lambda x: x + 1)(1.0)
print("before")
os.kill(os.getpid(), signal.SIGINT)
"""


def test_script_ends_by_the_signal_of_ctrl_c(tmp_path):
    explained, plain = run(tmp_path, INTERRUPTED)
    assert explained.returncode == plain.returncode == -signal.SIGINT
    assert explained.stdout == plain.stdout == "before\nat the end\n"
    assert "KeyboardInterrupt" in explained.stderr
    assert explained.stderr.count("jxc explain: 1 program was compiled") == 1


FORKED = """
import os
import jax.numpy
if pid := os.fork():
    os.waitpid(pid, 0)
    print("the child has ended")
else:
    raise SystemExit("child")
"""


def test_forked_process_does_not_report(tmp_path):
    explained, plain = run(tmp_path, FORKED, "-o", str(tmp_path / "table.txt"), "--json", "-")
    assert explained.stdout.count('"script"') == 1
    explained, _ = run(tmp_path, FORKED)
    assert explained.stdout == plain.stdout
    assert explained.stderr.count("jxc explain: ") == 1


def test_script_without_jax_has_the_same_json_keys(tmp_path):
    objects = [
        json.loads(run(tmp_path, text, "--json", "-")[0].stdout) for text in ("", "import jax")
    ]
    assert objects[0].keys() == objects[1].keys()
    assert objects[0]["rows"] == []


def test_script_may_look_for_jax_before_it_imports_it(tmp_path):
    text = "import importlib.util\nimportlib.util.find_spec('jax')\nimport jax\njax.jit(abs)(1.0)\n"
    explained, _ = run(tmp_path, text)
    assert "jxc explain: 1 program was compiled" in explained.stderr


CHILD = """
import jax
for size in (2, 3):
    jax.jit(lambda x: x + 1)(jax.numpy.arange(size))
"""
LAUNCHER = f"""
import subprocess, sys
{{}}
subprocess.run([sys.executable, "-c", {CHILD!r}, "--steps=2"], check=True)
"""
SPAWNING = """
import jax, multiprocessing
def work(size):
    return jax.jit(lambda x: x + 1)(jax.numpy.arange(size)).sum().item()
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(work, [2])
"""


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (LAUNCHER.format(""), "-c --steps=2"),
        (LAUNCHER.format("import jax; jax.jit(abs)(1.0)"), "-c --steps=2"),
        (SPAWNING, "SpawnPoolWorker-1"),
    ],
    ids=["launcher", "beside", "multiprocessing"],
)
def test_programs_of_child_processes_are_counted(tmp_path, text, command):
    explained, plain = run(tmp_path, text, "--json", str(tmp_path / "log.json"))
    assert explained.stdout == plain.stdout and explained.returncode == 0
    (child,) = json.loads((tmp_path / "log.json").read_text())["children"]
    assert child["command"] == command and child["programs"]["jit__lambda"] == child_calls(text)
    count = sum(child["programs"].values())
    about = " ".join(explained.stderr.split())
    assert f"1 child process compiled {count} programs in" in about
    assert f"{command} (process {child['process']}): jit_" in about


def child_calls(text):
    """How often the child of a program calls its lambda with another type."""
    return 1 if "spawn" in text else 2


def test_no_child_is_counted_without_one(tmp_path):
    explained, _ = run(tmp_path, "import jax\njax.jit(abs)(1.0)\n")
    assert "child" not in explained.stderr
    assert "_JXC_CHILDREN" not in os.environ
