"""Unit tests start no process and listen nowhere; tests that do are in tests/processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

STARTS = {
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "socket.bind", "subprocess.Popen",
}  # fmt: skip
_guards: list[list[str]] = []
"""What the guarded test has started. An audit hook lasts as long as the interpreter, and one is enough."""


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in STARTS and _guards and not _is_importing():
        _guards[-1].append(f"{event}{arguments!r:.200}")
        raise RuntimeError(f"{event} in tests/unit; tests that need it belong in tests/processes")


def _is_importing() -> bool:
    """Return whether a module of another package is being loaded: some look for IPv6 or count cores then."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "exec_module":
            return True
        frame = frame.f_back
    return False


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def _starts_nothing() -> Iterator[None]:
    """Fail tests that start a process or a server, also if the code under test swallows the refusal."""
    started: list[str] = []
    _guards.append(started)
    yield
    _guards.remove(started)
    assert not started, f"move the test to tests/processes: it started {started}"
