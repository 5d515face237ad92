"""The limit of open files: high for the server, unchanged for the jobs that it starts."""

from __future__ import annotations

import resource

MOST = 65536
_inherited: tuple[int, int] | None = None


def raise_limit() -> None:
    """Raise the soft limit of this process as far as the hard one allows."""
    global _inherited
    soft, hard = _inherited = _inherited or resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


def restore_limit(pid: int) -> None:
    """Give a child the limit that this process was started with: programs may handle only files below 1024."""
    if _inherited is not None and hasattr(resource, "prlimit"):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, _inherited)
