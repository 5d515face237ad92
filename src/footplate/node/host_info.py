"""Facts about a node that are available at once: resources, addresses, its Python, the priority of its threads."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from footplate import __version__, environ
from footplate.domain.codec import to_json
from footplate.domain.node_kinds import KIND
from footplate.domain.orders import ASSIGNED, INFO, VISIBLE
from footplate.lazy import Deferred
from footplate.node import gpus
from footplate.node.node_directory import bundle_folder, cache_home

if TYPE_CHECKING:
    from footplate.environments import machine
else:  # only a node that describes itself needs it
    machine = Deferred("footplate.environments.machine")

_tools: list[str] = []


def describe(home: str | None = None) -> dict[str, Any]:
    """Describe this machine. With the home of an agent whose server asks for it, also what can be installed here."""
    devices = gpus.find(gpus.open_driver(), os.environ.get(VISIBLE))
    system = os.uname()
    is_asked = home is not None and environ.DESCRIBE in os.environ
    kind = {KIND: _describe_kind(home, bool(devices))} if is_asked else {}
    return {
        "cpus": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": len(devices),
        INFO: to_json(devices),
        ASSIGNED: bundle_folder() is not None and VISIBLE in os.environ,
        "system": f"{system.sysname} {system.release}",
        "agent": __version__,
        "pid": os.getpid(),
        **kind,
    }


@functools.lru_cache(maxsize=1)  # an agent repeats its request to join
def _describe_kind(home: str, has_gpu: bool) -> Any:
    return to_json(machine.describe_machine(Path(cache_home(home)) / "environments", has_gpu))


def address_towards(endpoint: str) -> str:
    """Return the address of this machine on the route to the server; other nodes may use it as well."""
    parts = urlsplit(endpoint)
    if not parts.hostname:
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname, parts.port or 80))  # a datagram socket sends nothing here
            return str(probe.getsockname()[0])
    except OSError:
        return os.uname().nodename


def see_tool(folder: str) -> None:
    """Make the packages of a tool from the server importable, also for `own_python`."""
    sys.path.append(folder)
    importlib.invalidate_caches()
    _tools.append(folder)


def own_python() -> list[str]:
    """Return the argv of a Python with Footplate installed, for jobs whose own interpreter lacks it."""
    path = os.pathsep.join(filter(None, [bundle_folder() or os.environ.get("PYTHONPATH"), *_tools]))
    return ["/usr/bin/env", f"PYTHONPATH={path}", sys.executable] if path else [sys.executable]


def step_back() -> None:
    """Let this thread wait for a core that a rank leaves free, instead of preempting a rank: where ranks wait for each
    other, a delay of one delays all.
    """
    if _has_policies() and os.sched_getscheduler(0) == os.SCHED_OTHER:  # somebody chose another policy on purpose
        _set_policy(os.SCHED_BATCH)


def step_forward() -> None:
    """Take back `step_back`: the ranks have ended, and somebody waits for this thread."""
    if _has_stepped_back():
        _set_policy(os.SCHED_OTHER)


@contextlib.contextmanager
def standing_up() -> Generator[None]:
    """Restore the normal priority around the start of a process that outlives the run."""
    stepped_back = _has_stepped_back()
    step_forward()
    try:
        yield
    finally:
        if stepped_back:
            _set_policy(os.SCHED_BATCH)


def _has_policies() -> bool:
    return hasattr(os, "SCHED_BATCH")


def _has_stepped_back() -> bool:
    return _has_policies() and os.sched_getscheduler(0) != os.sched_getscheduler(os.getpid())


def _set_policy(policy: int) -> None:
    with contextlib.suppress(OSError):  # forbidden in some sandboxes, without harm
        os.sched_setscheduler(0, policy, os.sched_param(0))
