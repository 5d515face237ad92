"""What mpirun runs where others have ssh: `reach.py FOLDER [options] node-N COMMAND…`.

It asks the agent of that node to run the command, stays until it has ended, and ends with its exit code. The agents of
a run know a secret of that run; the request carries no more than a proof of knowing it. FOLDER is the folder of the
node that runs mpirun, and `reach.json` in it says where the others are.

Started once for each node, on the way to the first line of the user's script: it imports little, and nothing of ours.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedRWPair
    from typing import Any

SETTINGS = "reach.json"
CONNECT_SECONDS = 60.0


def main(arguments: list[str]) -> int:
    folder, *rest = arguments
    while rest and rest[0].startswith("-"):  # what ssh would understand
        rest.pop(0)
    with open(os.path.join(folder, SETTINGS), encoding="utf-8") as file:
        known = json.load(file)
    host, command = rest[0], " ".join(rest[1:])
    address, port = known["nodes"][int(host.rpartition("-")[2])]
    link = _connect(address, port)
    with link, link.makefile("rwb") as lines:
        nonce = read(lines)["nonce"]
        write(lines, {"command": command, "proof": proof(known["secret"], nonce, command)})
        answer = read(lines)
        if "error" in answer:
            sys.stderr.write(f"the agent of {host} does not start {command.split()[0]}: {answer['error']}\n")
            return 1
        return int(read(lines)["code"])


def proof(secret: str, nonce: str, command: str) -> str:
    return hmac.new(secret.encode(), f"{nonce}\n{command}".encode(), hashlib.sha256).hexdigest()


def read(lines: BufferedRWPair[Any, Any]) -> dict[str, Any]:
    line = lines.readline(1 << 20)
    if not line.endswith(b"\n"):
        raise ConnectionError("the other side is gone")
    return json.loads(line)


def write(lines: BufferedRWPair[Any, Any], message: dict[str, Any]) -> None:
    lines.write(json.dumps(message).encode() + b"\n")
    lines.flush()


def _connect(address: str, port: int) -> socket.socket:
    """The agent over there may be a moment behind: it opens its door when it hears that all nodes are prepared."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            link = socket.create_connection((address, port), timeout=CONNECT_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
            continue
        link.settimeout(None)
        return link


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, ValueError) as error:
        sys.exit(f"the agent of a node could not be reached: {error}")
