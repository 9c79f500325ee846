"""Shell completion: what a shell is offered, without importing jax."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jxc.backend.targets import all_offers
from jxc.cli.completion import pass_names, rule_names
from jxc.pipeline import our_passes
from jxc.pipeline.native import NATIVE_PASSES

COMPLETE = """
import json, os, sys
words = json.loads(sys.argv[1])
os.environ["_JXC_COMPLETE"] = "bash_complete"
os.environ["COMP_WORDS"] = " ".join(words)
os.environ["COMP_CWORD"] = str(len(words) - 1)
from jxc.cli import main
sys.argv = ["jxc"]
try:
    main()
finally:
    assert "jax" not in sys.modules, "completion imported jax"
    assert words[1] != "opt" or "jaxlib" not in sys.modules, "completion imported MLIR"
"""


def complete(*words: str) -> list[str]:
    """The values that are offered for the last of the words after `jxc`."""
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE, json.dumps(["jxc", *words])],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert not done.stderr
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tra"], ["translate"]),
        (["opt", "--mlir-print-ir-tree"], ["--mlir-print-ir-tree-dir"]),
        (["opt", "--help-pass", "stablehlo-legalize-to-"], None),
        (["opt", "-p", "inline,simp"], ["inline,simplify"]),
        (["opt", "-p", "func.func(symbol-d"], ["func.func(symbol-dce"]),
        (["opt", "-p", "inline{max"], []),
        (["opt", "-p", "negate-of-neg"], ["negate-of-negate"]),
        (["opt", "--mlir-debug-counter", "negate-of-neg"], ["negate-of-negate"]),
        (["report", "f.py:f", "--target", "cpu,tpu:v5"], None),
        (["compile", "--target", "gpu:h10"], ["gpu:h100"]),
        (["translate", "--to", "hlo-"], ["hlo-proto"]),
        (["opt", "-O", ""], ["0", "1", "2", "3"]),
        (["completion", "f"], ["fish"]),
    ],
)
def test_completion_offers(words, offered):
    found = complete(*words)
    if offered is None:
        assert found
        assert all(each.startswith(words[-1]) for each in found)
    else:
        assert found == offered


def test_completion_offers_files():
    assert complete("opt", "examples/") == ["examples/"]


def test_names_are_those_of_the_passes():
    ours = [each.name for each in our_passes()]
    assert [name for name in pass_names() if name in ours] == ours
    assert pass_names().keys() >= NATIVE_PASSES.keys()
    assert rule_names().keys() <= {rule.name for each in our_passes() for rule in each.rules}


def test_every_target_is_offered():
    assert complete("compile", "--target", "") == [offer.name for offer in all_offers()]


BASH = """
eval "$(jxc completion bash)"
COMP_WORDS=(jxc compile --target gpu:h10); COMP_CWORD=3
{ compopt() { :; }; _jxc_completion jxc; } 2>/dev/null
echo "${COMPREPLY[@]}"; echo "$COMP_WORDBREAKS" | grep -c : || true; complete -p jxc
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_script_works_in_bash(tmp_path):
    command = shutil.which("jxc", path=str(Path(sys.executable).parent))
    (tmp_path / "jxc").symlink_to(command)
    done = subprocess.run(
        ["bash", "-c", BASH],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.splitlines()[:2] == ["gpu:h100", "0"], done.stderr
    assert "_jxc_completion jxc" in done.stdout


@pytest.mark.parametrize(("shell", "text"), [("zsh", "compdef"), ("fish", "complete --no-files")])
def test_other_shells_have_scripts(shell, text):
    done = subprocess.run(
        [sys.executable, "-c", "from jxc.cli import main; main()", "completion", shell],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert text in done.stdout
    assert "_JXC_COMPLETE" in done.stdout
