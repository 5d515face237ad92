"""The program that mpirun runs in place of ssh: `remote_shell.py SOCKET [options] node-N COMMAND…`.

It passes the request to the agent of its own node, which listens at SOCKET and knows the other agents
(`launcher_rpc`), waits until the command has ended there, and exits with the same code.

It starts once per node before the first line of the user's script, so it imports next to nothing: `_socket` is the
core of `socket`, without two thirds of its import time.
"""

from __future__ import annotations

import sys
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
from posix import chdir

NAME = "reach.sock"


def main(arguments: list[str]) -> int:
    path, *rest = arguments
    while rest and rest[0].startswith("-"):  # options that ssh would understand
        rest.pop(0)
    if len(rest) < 2:
        sys.stderr.write("reach: there is no node or no command\n")
        return 2
    folder, _, name = path.rpartition("/")
    chdir(folder or "/")  # the address of a socket is short, while a path may be long
    link = socket(AF_UNIX, SOCK_STREAM)
    link.connect(name)
    link.sendall(f"{rest[0]}\0{' '.join(rest[1:])}".encode("utf-8", "surrogateescape"))
    link.shutdown(SHUT_WR)
    answer = b""
    while piece := link.recv(4096):
        answer += piece
    code, _, words = answer.decode("utf-8", "replace").partition(" ")
    if words or not code:
        sys.stderr.write(f"{rest[0]} could not be reached: {words or 'the agent of this node is gone'}\n")
    return int(code or 1)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(f"the agent of this node does not answer: {error}")
