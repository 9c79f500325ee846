"""Warnings of environment variables that jxc does not read."""

import os
import subprocess
import sys


def stderr_of(code: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JXC_", "_JXC_"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def test_misspelt_variable_is_reported_once_for_all_processes():
    code = "import jxc, subprocess, sys; subprocess.run([sys.executable, '-c', 'import jxc'])"
    assert stderr_of(code, JXC_PIPELIN="O2") == (
        "jxc: warning: jxc does not read the variable JXC_PIPELIN. Did you mean 'JXC_PIPELINE'?\n"
    )


def test_known_and_foreign_variables_are_not_reported():
    assert stderr_of("import jxc", JXC_PIPELINE="O2", JXC_RATES="shipped", MYJXC_X="1") == ""
