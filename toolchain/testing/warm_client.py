"""Runs a program in a fork of the process of `warm.serve`; imports as little as it can.

    python -I -S warm_client.py SOCKET PROGRAM [ARGUMENT ...]

Its files, working directory, environment and arguments are those of this process. Without that
process, and for an environment that Python or JAX reads when they are imported, it starts Python.
"""

import marshal
import os
import socket
import sys

CODE_OF = {
    "jxc": "from jxc.cli import main; main()",
    "filecheck": "from jxc.testing.filecheck import main; main()",
}
OTHER_ENVIRONMENT = 1000  # an exit code that no program has: run it in a process of its own


def main() -> None:
    path, program, *arguments = sys.argv[1:]
    request = marshal.dumps((program, arguments, os.getcwd(), dict(os.environ)))
    code = OTHER_ENVIRONMENT
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            pass
        else:
            socket.send_fds(connection, [len(request).to_bytes(8, "little")], [0, 1, 2])
            connection.sendall(request)
            answer = connection.recv(8)
            if not answer:
                print("jxc-warm: the process that runs programs ended", file=sys.stderr, flush=True)
                os.abort()  # which `not` does not take for a failure of the program
            code = int.from_bytes(answer, "little", signed=True)
    if code == OTHER_ENVIRONMENT:
        python = f"import sys; sys.argv[0] = {program!r}; {CODE_OF[program]}"
        os.execv(sys.executable, [sys.executable, "-P", "-c", python, *arguments])
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
