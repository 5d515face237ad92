"""What an engine says to an agent on its command line. Parsed by hand: argparse costs more than all of it is worth.

The token comes in the environment: a command line can be read by everybody on the machine.
"""

from __future__ import annotations

import os
import sys

from footplate import environ

_NAMES = ("--run", "--node", "--attempt", "--endpoint", "--home", "--address", "--lock")
_USAGE = (
    "usage: python -m footplate.node --run RUN --node N --endpoint URL [--attempt N] [--home FOLDER] [--address IP]"
)


class AgentOptions:
    def __init__(self, arguments: list[str]) -> None:
        given = dict(zip(arguments[::2], arguments[1::2], strict=False))
        unknown = [name for name in arguments[::2] if name not in _NAMES or name not in given]
        missing = [name for name in ("--run", "--node", "--endpoint") if name not in given]
        if unknown or missing:
            complaint = f"not understood: {unknown[0]}" if unknown else f"missing: {missing[0]}"
            sys.exit(f"footplate.node: {complaint}\n{_USAGE}")
        self.run = given["--run"]
        self.node = int(given["--node"])
        self.attempt = int(given.get("--attempt", "1"))
        self.endpoint = given["--endpoint"]
        self.address = given.get("--address")
        """Where other nodes find this one; without it, the address of this machine on the way to the server."""
        self.home = given.get("--home")
        """The server's home folder, on a machine that shares it with the server."""
        self.lock = int(given["--lock"]) if "--lock" in given else None
        """The number of an open file: the agent's lock, taken for us."""
        self.token = os.environ.get(environ.TOKEN)

    @property
    def root(self) -> str:
        """Where the agent's own folder, environments and runtime lie: the server's home, or one of the node's own."""
        return self.home or os.environ.get(environ.NODE_HOME) or os.path.expanduser("~/.cache/footplate")
