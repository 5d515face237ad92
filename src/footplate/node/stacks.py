"""Python stacks of this node's processes, even if they hang: no code of theirs has to run for it.

py-spy reads them from outside, if it is installed (the extra `debug`) and may inspect other processes. Otherwise the
signal that the bootstrap registered makes the process write them, from C, whatever its Python code waits for. The
signal would kill a process that has not registered it, so it is sent only to processes that have.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from footplate import environ
from footplate.domain.stacks import SIGNAL, ProcessStacks, StackFrame, ThreadStack
from footplate.errors import FootplateError
from footplate.node import process_tree
from footplate.node.delivery.server_link import Abandoned, Link
from footplate.node.log import say

_RANK = environ.RANK.encode() + b"="
_EXITS = environ.EXITS.encode() + b"="
_AT_ONCE = 4
_SPY_SECONDS = 20.0
_WRITE_SECONDS = 3.0
_QUIET_SECONDS = 0.1
_LONGEST_COMMAND = 200
_THREAD = re.compile(r"^(?:Current thread|Thread) (0x[0-9a-f]+)(?: \[(.*)\])? \(most recent call first\):")
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')


class Answers:
    """Answers each request once, on a thread of its own: the calling thread sends the heartbeats."""

    def __init__(self, link: Link, members: Callable[[], list[int]], node: int) -> None:
        self._link = link
        self._members = members
        self._node = node
        self._heard: set[str] = set()

    def give(self, key: str) -> None:
        if key not in self._heard:
            self._heard.add(key)
            threading.Thread(target=self._answer, args=[key], name="stacks", daemon=True).start()

    def _answer(self, key: str) -> None:
        stacks = collect(self._members(), self._node, find_spy())
        try:
            self._link.retry(lambda: self._link.show_stacks(key, stacks))
        except (FootplateError, Abandoned) as error:
            say(f"the stacks of {len(stacks)} processes could not be read: {error}")


def collect(pids: Iterable[int], node: int, spy: str | None) -> list[ProcessStacks]:
    """Return the stacks of these processes. Processes of one rank are asked in turn, because they share a file.

    `spy` is the program that reads from outside, if there is one.
    """
    by_rank: dict[int | None, list[int]] = {}
    for pid in sorted(pids):
        by_rank.setdefault(_rank(pid), []).append(pid)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        groups = [pool.submit(_look_at_all, group, node, rank, spy) for rank, group in by_rank.items()]
        stacks = [each for group in groups for each in group.result()]
    return sorted(stacks, key=lambda each: (each.rank is None, each.rank or 0, each.pid))


def _look_at_all(pids: Iterable[int], node: int, rank: int | None, spy: str | None) -> list[ProcessStacks]:
    return [seen for seen in (_look(pid, node, rank, spy) for pid in pids) if seen is not None]


def _look(pid: int, node: int, rank: int | None, spy: str | None) -> ProcessStacks | None:
    process = process_tree.look(pid)
    if process is None or process.zombie:
        return None
    command = _text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()[:_LONGEST_COMMAND]
    if not _is_python(pid):
        return ProcessStacks(node, pid, process.parent, command, rank, note="not a Python process")
    threads, why = _spy(spy, pid)
    source = "py-spy"
    if not threads:
        threads, own = _ask(pid)
        source, why = "faulthandler", own if own is None or why is None else f"{why}; {own}"
    if not threads:
        return ProcessStacks(node, pid, process.parent, command, rank, note=why)
    return ProcessStacks(node, pid, process.parent, command, rank, source, threads=threads)


def _rank(pid: int) -> int | None:
    for variable in process_tree.variables(pid):
        if variable.startswith(_RANK) and variable[len(_RANK) :].isdigit():
            return int(variable[len(_RANK) :])
    return None


def _is_python(pid: int) -> bool:
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    return "python" in program or "libpython" in _text(f"/proc/{pid}/maps")


# ── From outside ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _spy(program: str | None, pid: int) -> tuple[tuple[ThreadStack, ...], str | None]:
    if program is None:
        return (), "py-spy is not installed (pip install 'footplate[debug]')"
    try:
        done = subprocess.run(
            [program, "dump", "--json", "--pid", str(pid)], capture_output=True, timeout=_SPY_SECONDS, check=True
        )
        threads = [_thread(each) for each in json.loads(done.stdout)]
        return tuple(
            sorted(threads, key=lambda thread: thread.name != "MainThread")
        ), None  # the main thread first: people look there
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        return (), f"py-spy: {lines[0] if lines else 'failed'}"
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return (), f"py-spy: {error}"


def find_spy() -> str | None:
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    return beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


def _thread(seen: dict[str, Any]) -> ThreadStack:
    frames = tuple(
        StackFrame(str(f["name"]), str(f["filename"]), int(f["line"] or 0)) for f in reversed(seen["frames"])
    )
    return ThreadStack(hex(int(seen["thread_id"])), seen.get("thread_name"), frames)


# ── From inside ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _ask(pid: int) -> tuple[tuple[ThreadStack, ...], str | None]:
    path = _find_stack_file(pid)
    if path is None:
        return (), "it was not started by Footplate's bootstrap, or has closed its file, so it cannot be asked"
    before = os.path.getsize(path)
    try:
        os.kill(pid, SIGNAL)
    except OSError as error:
        return (), f"it cannot be signalled: {error.strerror}"
    text = _wait_for_text(path, before)
    return parse(text), None if text else f"it has not answered within {_WRITE_SECONDS:g} s"


def _find_stack_file(pid: int) -> str | None:
    """Return the file to which the process would write its stacks, if it is certain that the signal is safe."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", _text(f"/proc/{pid}/status"), re.MULTILINE)
    if caught is None or not int(caught[1], 16) >> (SIGNAL - 1) & 1:
        return None
    exits = next((v[len(_EXITS) :] for v in process_tree.variables(pid) if v.startswith(_EXITS)), None)
    rank = _rank(pid)
    if exits is None or rank is None:
        return None
    path = os.path.join(os.fsdecode(exits), f"rank_{rank}.stacks")
    try:
        open_files = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return None
    return path if path in open_files else None


def _wait_for_text(path: str, before: int) -> str:
    """Return the text that was added to the file, as soon as it stops growing."""
    deadline = time.monotonic() + _WRITE_SECONDS
    size = before
    since = time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.01)
        now = os.path.getsize(path)
        if now != size:
            size = now
            since = time.monotonic()
        elif size > before and time.monotonic() - since > _QUIET_SECONDS:
            break
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(before)
        return file.read()


def parse(text: str) -> tuple[ThreadStack, ...]:
    """Parse the output of faulthandler, thread by thread."""
    threads: list[tuple[str, str | None, list[StackFrame]]] = []
    for line in text.splitlines():
        thread, frame = _THREAD.match(line), _FRAME.match(line)
        if thread:
            threads.append((thread[1], thread[2], []))
        elif frame and threads:
            threads[-1][2].insert(0, StackFrame(frame[3], frame[1], int(frame[2])))
    # faulthandler writes the interrupted thread, the main one, last; people look for it first.
    return tuple(ThreadStack(hex(int(id, 16)), name, tuple(frames)) for id, name, frames in reversed(threads))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
