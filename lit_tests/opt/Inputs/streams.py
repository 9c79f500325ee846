"""Run `jxc opt` with unusual streams and files: closed, full, or linked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

jxc, module, scratch = sys.argv[1:]


def shell(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.returncode, *done.stderr.strip().splitlines()


print("closed output:", *shell(f"{jxc} opt {module} >&-"))
print("full output:", *shell(f"{jxc} opt {module} > /dev/full"))
print("closed input:", *shell(f"{jxc} opt <&-"))
print("reader left:", *shell(f"bash -c 'set -o pipefail; {jxc} opt --list-passes | head -1'"))

target, link = Path(f"{scratch}.target"), Path(f"{scratch}.link")
target.write_text("old")
target.chmod(0o600)
link.unlink(missing_ok=True)
link.symlink_to(target)
shell(f"{jxc} opt {module} -o {link}")
assert "@main" in target.read_text()
print(f"mode {oct(target.stat().st_mode & 0o777)}, still a link: {link.is_symlink()}")

pipe = Path(f"{scratch}.py")
pipe.write_text(
    "import os, time\n"
    "from jxc import module_pass\n"
    f"open({scratch + '.pid'!r}, 'w').write(str(os.getpid()))\n"
    "time.sleep(60)\n"
)
Path(f"{scratch}.pid").unlink(missing_ok=True)
running = subprocess.Popen([jxc, "opt", module, f"--load-pass={pipe}", "-p", "cse"])
while not (Path(f"{scratch}.pid").exists() and Path(f"{scratch}.pid").read_text()):
    time.sleep(0.05)
worker = int(Path(f"{scratch}.pid").read_text())
running.send_signal(signal.SIGTERM)
running.wait(timeout=20)
try:
    os.kill(worker, 0)
    print("terminated: the worker is gone: False")
except ProcessLookupError:
    print("terminated: the worker is gone: True")
