"""Processes of clients on this machine, as clients describe themselves: `<pid> <start time>@<boot> <pid namespace>`."""

from __future__ import annotations

import os

from footplate.node import process_tree


def is_gone(process: str) -> bool:
    """Whether a client's process has certainly ended. One of another machine or container may live."""
    try:
        pid, identity, namespace = process.split(" ", 2)
        here = os.readlink("/proc/self/ns/pid")
        if namespace != here or identity.rpartition("@")[2] != process_tree.boot():
            return False
        return process_tree.identity(int(pid)) != identity
    except (OSError, ValueError):
        return False
