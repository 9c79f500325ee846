"""Change the current directory."""

import os

os.chdir("/")
