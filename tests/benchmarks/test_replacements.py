"""The table of replacements in packages, for the one that needs no package but JAX."""

from .test_run import run_script


def test_script_applies_a_replacement_forward_and_in_the_gradient(tmp_path):
    results = tmp_path / "results.md"
    names = ("log-density", "--results", results)
    done = run_script(*names, script="replacements.py", JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    [row] = [line for line in done.stdout.splitlines() if line.startswith("| jax |")]
    *_, hits, error, in_gradient, its_error, _ = row.split(" | ".strip())
    assert int(hits) == int(in_gradient) == 1
    assert float(error) < 1e-5 and float(its_error) < 1e-5
    text = results.read_text()
    assert row in text and "- log-density, laplace: no op of the program" in text


def test_unknown_replacement_is_a_usage_error():
    done = run_script("no-such", script="replacements.py", JAX_PLATFORMS="cpu")
    assert done.returncode == 2
    assert "is called ['no-such']" in done.stderr and "Traceback" not in done.stderr
