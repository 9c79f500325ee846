"""`jxc diff` of two revisions, and its page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

JXC = str(Path(sys.executable).parent / "jxc")


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def diff(folder, *words):
    command = [JXC, "diff", *words, "--no-compile"]
    environment = {**os.environ, "COLUMNS": "80", "JAX_PLATFORMS": "cpu"}
    environment["PYTHONPATH"] = str(
        folder.parent / "src"
    )  # like an editable install from this folder
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A model and a module that it imports; the second revision changes the module. And an edit."""
    folder = tmp_path_factory.mktemp("repository") / "models"
    sources = folder.parent / "src"
    folder.mkdir()
    sources.mkdir()
    model = "from layers import layer\n\n\ndef step(x):\n    return layer(x) + 1.0\n"
    layers = "import jax.numpy as jnp\n\n\ndef layer(x):\n    return jnp.sin(x)\n"
    (folder / "model.py").write_text(model)
    (sources / "layers.py").write_text(layers)
    git(folder.parent, "init", "-q")
    git(folder.parent, "add", ".")
    git(folder, "commit", "-qm", "one")
    (sources / "layers.py").write_text(layers.replace("def", "# moved\ndef").replace("sin", "cos"))
    git(folder, "commit", "-qam", "two")
    (folder / "model.py").write_text(model.replace("1.0", "2.0"))
    return folder


def test_diff_of_revisions_uses_their_version_of_every_file(repository):
    page = repository.parent / "page.html"
    words = ("HEAD~1:model.py:step", "HEAD:model.py:step", "f32[8]", "--html", str(page))
    done = diff(repository, *words)
    assert done.returncode == 1, done.stderr
    assert "layers.py:5  return jnp.sin(x)\n     1 fewer stablehlo.sine\n" in done.stdout
    assert "layers.py:6  return jnp.cos(x)\n     1 more stablehlo.cosine\n" in done.stdout
    assert "model.py" not in done.stdout.partition("ops ")[2]
    assert {"stablehlo.sine", "stablehlo.cosine"} <= set(re.findall(r"\w+\.\w+", page.read_text()))


def test_diff_of_uncommitted_changes_leaves_repository_untouched(repository):
    before = git(repository, "status", "--porcelain"), git(repository, "worktree", "list")
    listed = sorted(str(file) for file in (repository.parent / ".git").rglob("*"))
    done = diff(repository, "HEAD:model.py:step", "model.py:step", "f32[8]", "--json")
    assert done.returncode == 1, done.stderr
    assert done.stderr == "", "no file of the checkout is used for the revision"
    (group,) = json.loads(done.stdout)["difference"]["groups"]
    assert (group["kind"], group["op"]) == ("changed", "stablehlo.constant")
    assert group["site"]["text"] == "return layer(x) + 2.0"
    assert group["before"]["text"] == "return layer(x) + 1.0"
    assert before == (
        git(repository, "status", "--porcelain"),
        git(repository, "worktree", "list"),
    )
    assert listed == sorted(str(file) for file in (repository.parent / ".git").rglob("*"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("HEAD~9:model.py:step", "HEAD~9 is read as a git revision"),
        ("HEAD~1:other.py:step", "HEAD~1:other.py:step: other.py: no such file"),
    ],
)
def test_diff_rejects_missing_revision(repository, source, said):
    done = diff(repository, source, "f32[8]", "-O0", "-O2")
    assert done.returncode == 2
    assert done.stderr.startswith(f"jxc: error: {said}")
    assert "Traceback" not in done.stderr


def test_diff_outside_of_repository_prints_error_of_git(tmp_path):
    done = diff(tmp_path, "HEAD:model.py:step", "model.py:step", "f32[8]")
    assert done.returncode == 2 and "git says" in done.stderr
