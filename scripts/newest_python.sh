#!/usr/bin/env bash
# Print the path of the newest working Python from 3.12 on; exit code 1 if there is none.
# Each candidate is run, because pyenv installs shims for versions that are not enabled.
set -u
for minor in 14 13 12; do
  for candidate in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.$minor*/bin/python3; do
    if found=$(command -v "$candidate") && "$found" -c 'import venv, ensurepip' 2>/dev/null; then
      echo "$found"
      exit 0
    fi
  done
done
exit 1
