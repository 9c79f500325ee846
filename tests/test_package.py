"""The package metadata: folders, dependencies, and the files that use private names."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

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
    assert [d for d in everything if ">=" not in d and not d.startswith("jxc[")] == []


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
    assert set(licenses) == required_packages("jxc", set())
    assert all(re.match("Apache|BSD|MIT", text) for text in licenses.values())
