"""The package metadata: folders, dependencies, and the files that use private names."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

from jxc.distribution import refuse_another_project
from jxc.rewrite import former_names

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def folders(root, name):
    inits = (ROOT / root).rglob("__init__.py")
    return {".".join((name, *init.relative_to(ROOT / root).parts[:-1])) for init in inits}


def test_packages_lists_every_folder():
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    assert declared == folders("toolchain", "jxc") | folders("passes", "jxc.passes")


def test_every_dependency_has_a_lower_bound():
    extras = PROJECT["project"]["optional-dependencies"].values()
    everything = [*PROJECT["project"]["dependencies"], *(d for extra in extras for d in extra)]
    assert [d for d in everything if ">=" not in d and not d.startswith("jxc-compiler[")] == []


def test_private_names_are_used_only_in_private_modules():
    touching = {
        str(file.relative_to(ROOT))
        for folder in ("toolchain", "passes")
        for file in (ROOT / folder).rglob("*.py")
        if any(
            word in line
            for line in file.read_text().splitlines()
            for word in ("jax._src", "jaxlib._", "_mlir_libs")
            if not line.lstrip().startswith(("#", '"'))
        )
    }
    assert {path for path in touching if not path.endswith("_private.py")} == set()


def test_former_names_are_removed_in_a_later_version():
    """If this fails: remove what the previous version deprecated (docs/policy.md)."""
    current = [int(part) for part in PROJECT["project"]["version"].split(".")[:2]]
    assert [int(part) for part in former_names.REMOVED_IN.split(".")] > current


def required_packages(package, seen):
    """The packages that a package needs without extras, in turn, by their normalized names."""
    for each in requires(package) or ():
        name = re.split(r"[\s;<>=!~\[(]", each)[0].replace("_", "-").lower()
        if ";" not in each and name not in seen:
            seen.add(name)
            required_packages(name, seen)
    return seen


def test_the_policy_lists_the_license_of_each_required_package():
    text = (ROOT / "docs" / "policy.md").read_text()
    rows = re.findall(r"^\| ([\w-]+) \| (.+?) \| .* \|$", text, re.MULTILINE)
    licenses = {name.replace("_", "-"): text for name, text in rows if "---" not in name}
    del licenses["package"]
    assert set(licenses) == required_packages("jxc-compiler", set())
    assert all(re.match("Apache|BSD|MIT", text) for text in licenses.values())


def test_no_text_says_to_install_another_project():
    """`jxc` on the index is another project; this one is `jxc-compiler`."""
    texts = ("*.md", "docs/**/*.md", "toolchain/**/*.py", "passes/**/*.py", "examples/**/*.md")
    files = [path for pattern in texts for path in ROOT.glob(pattern)]
    command = re.compile(r"pip (?:install|uninstall)[^`\n]*?[ '\"]jxc(?:[\[ '\"`]|$)", re.MULTILINE)
    found = {path.name: command.findall(path.read_text()) for path in files}
    assert len(files) > 300
    assert [name for name, each in found.items() if each] == ["distribution.py"]


def test_another_project_of_the_same_module_is_refused(tmp_path, monkeypatch):
    package = str(tmp_path / "jxc")
    refuse_another_project(package)
    (tmp_path / "jxc_compiler-0.2.0.dist-info").mkdir()
    refuse_another_project(package)
    (tmp_path / "jxc-0.9.1.dist-info").mkdir()
    with pytest.raises(ImportError, match=r"another project.s .* pip uninstall jxc && pip install"):
        refuse_another_project(package)
    monkeypatch.setattr("sys.argv", ["/usr/bin/jxc", "--version"])
    with pytest.raises(SystemExit, match="jxc: error: another project"):
        refuse_another_project(package)


def test_the_command_says_that_the_module_is_of_another_project(tmp_path):
    """As after `pip install jxc-compiler jxc`, which leaves the other project's __init__."""
    shutil.copytree(ROOT / "toolchain", tmp_path / "jxc", ignore=shutil.ignore_patterns("passes"))
    (tmp_path / "jxc" / "__init__.py").write_text("def decode(text): ...\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from jxc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "jxc: error: another project's distribution, 'jxc'" in done.stderr
    assert "Traceback" not in done.stderr
