"""Run a program whose messages are shown while it works."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from footplate.environments.base import Say


@dataclass(frozen=True)
class Finished:
    """`messages` are the lines of standard error, and with `show_output` those of standard output, too."""

    code: int
    output: str
    messages: str


def stream(
    argv: Sequence[str],
    say: Say,
    environ: Mapping[str, str],
    text: str | None = None,
    keep_open: Sequence[int] = (),
    show_output: bool = False,
    unprivileged: bool = False,
) -> Finished:
    """Run a program in the root directory with `text` as its input, and pass its messages to `say` line by line.

    The program ends with us: when the caller is interrupted, it and everything that it started are killed. `keep_open`
    are file locks that it inherits, so that they outlive a killed caller for as long as the program still writes.
    `unprivileged`: nothing that it starts gains privileges, not even with sudo, on systems that can prevent it.
    """
    process = subprocess.Popen(
        [*(_no_new_privileges(shutil.which("setpriv")) if unprivileged else ()), *argv],
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env=environ,
        text=True,
        encoding="utf-8",
        errors="replace",
        pass_fds=keep_open,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    output: list[str] = []
    messages: list[str] = []

    def show(line: str) -> None:
        messages.append(line.rstrip("\n"))
        say(messages[-1])

    def read_output(source: IO[str]) -> None:
        for line in source:
            output.append(line)
            if show_output:
                show(line)

    threads = [threading.Thread(target=read_output, args=(process.stdout,), daemon=True)]
    if process.stdin is not None and text is not None:
        threads.append(threading.Thread(target=_write, args=(process.stdin, text), daemon=True))
    try:
        for thread in threads:
            thread.start()
        for line in process.stderr:
            show(line)
        for thread in threads:
            thread.join()
        return Finished(process.wait(), "".join(output), "\n".join(messages))
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        process.stderr.close()


@functools.lru_cache(maxsize=None)
def _no_new_privileges(setpriv: str | None) -> tuple[str, ...]:
    """Return the words before a program that keep it from gaining privileges; none where that does not work."""
    if setpriv is None:
        return ()
    argv = (setpriv, "--no-new-privs", "--")
    works = subprocess.run([*argv, "true"], capture_output=True, check=False).returncode == 0
    return argv if works else ()


def _write(target: IO[str], text: str) -> None:
    try:
        with target:
            target.write(text)
    except BrokenPipeError:
        pass  # the program ended without reading everything; its messages tell why
