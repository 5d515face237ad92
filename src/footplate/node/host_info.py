"""What a person wants to know about a node, as far as it can be told at once."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Generator
from typing import Any
from urllib.parse import urlsplit

from footplate import __version__
from footplate.domain.codec import to_json
from footplate.domain.gpus import INFO, VISIBLE
from footplate.node import gpus


def describe() -> dict[str, Any]:
    devices = gpus.find(gpus.open_driver(), os.environ.get(VISIBLE))
    system = os.uname()
    return {
        "cpus": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": len(devices),
        INFO: to_json(devices),
        "system": f"{system.sysname} {system.release}",
        "agent": __version__,
        "pid": os.getpid(),
    }


def address_towards(endpoint: str) -> str:
    """The address of this machine on the way to the server, where other nodes may find it as well."""
    parts = urlsplit(endpoint)
    if not parts.hostname:
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname, parts.port or 80))  # a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return os.uname().nodename


def own_python() -> list[str]:
    """How a job, whose own interpreter has nothing of ours installed, starts a Python that has all of it."""
    path = os.environ.get("PYTHONPATH")
    return ["/usr/bin/env", f"PYTHONPATH={path}", sys.executable] if path else [sys.executable]


def step_back() -> None:
    """Have this thread wait for a core until a rank leaves it one, instead of taking it from a rank in the midst of its
    work: where ranks wait for each other, taking from one takes from all."""
    if _has_policies() and os.sched_getscheduler(0) == os.SCHED_OTHER:  # whoever chose another one has their reasons
        _set_policy(os.SCHED_BATCH)


@contextlib.contextmanager
def standing_up() -> Generator[None]:
    """Around the start of something that outlives the run: it must not inherit that this thread has stepped back."""
    stepped_back = _has_policies() and os.sched_getscheduler(0) != os.sched_getscheduler(os.getpid())
    if stepped_back:
        _set_policy(os.SCHED_OTHER)
    try:
        yield
    finally:
        if stepped_back:
            _set_policy(os.SCHED_BATCH)


def _has_policies() -> bool:
    return hasattr(os, "SCHED_BATCH")


def _set_policy(policy: int) -> None:
    with contextlib.suppress(OSError):  # not allowed in some sandboxes, and no loss there
        os.sched_setscheduler(0, policy, os.sched_param(0))
