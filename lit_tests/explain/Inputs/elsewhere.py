"""Goes to another folder, and stays there."""

import os

os.chdir("/")
