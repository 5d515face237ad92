"""The command line of an agent. Parsed by hand: the import of argparse takes longer than all of it.

The token comes in the environment: everybody on the machine can read a command line.
"""

from __future__ import annotations

import os
import sys

from footplate import environ

_NAMES = ("--run", "--node", "--attempt", "--endpoint", "--home", "--address", "--lock", "--linger")
_USAGE = "usage: python -m footplate.node --run RUN --node N --endpoint URL [--attempt N] [--home DIR] [--address IP]"


class AgentOptions:
    def __init__(self, arguments: list[str]) -> None:
        values = dict(zip(arguments[::2], arguments[1::2]))
        unknown = [name for name in arguments[::2] if name not in _NAMES or name not in values]
        missing = [name for name in ("--run", "--node", "--endpoint") if name not in values]
        if unknown or missing:
            complaint = f"not understood: {unknown[0]}" if unknown else f"missing: {missing[0]}"
            sys.exit(f"footplate.node: {complaint}\n{_USAGE}")
        self.run = values["--run"]
        self.node = int(values["--node"])
        self.attempt = int(values.get("--attempt", "1"))
        self.endpoint = values["--endpoint"]
        self.address = values.get("--address")
        """The address for other nodes; by default that of this machine on the route to the server."""
        self.home = values.get("--home")
        """The server's home directory, on a machine that shares it with the server."""
        self.lock = int(values["--lock"]) if "--lock" in values else None
        """The file descriptor of the agent's lock, if the engine has taken it."""
        self.linger = float(values.get("--linger", "30"))
        """Seconds that one of several ranks may take to exit after it has raised. A thread of its own, or a library
        that waits for other ranks at exit, may keep it forever, and the others wait for it in vain.
        """
        self.token = os.environ.get(environ.TOKEN)

    @property
    def root(self) -> str:
        """The root of the agent's directory, environments and runtime: the server's home, or one of the node's own."""
        return self.home or os.environ.get(environ.NODE_HOME) or os.path.expanduser("~/.cache/footplate")
