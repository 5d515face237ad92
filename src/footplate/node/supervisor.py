"""The parent of an agent on another machine: it keeps one agent alive until it exits or somebody asks to stop.

The bootstrap loads this file from the agent bundle, where its bytecode is cached. All of this precedes the first line
of the user's script. So it imports only modules that the agent needs as well, and the agent is a fork and not a new
interpreter.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

RESTARTS = 5
"""The number of times that a killed agent is started again. One that has lived for HEALTHY_SECONDS starts anew at 0."""

HEALTHY_SECONDS = 600.0
PAUSES = (0.2, 15.0)
"""The first and the longest pause before another start, in seconds."""

STOPPED = 75
"""Exit code if somebody asked to stop before the agent was started, as that of the bootstrap."""

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


def supervise(folder: str, arguments: list[str]) -> int:
    """Run the agent of the bundle in `folder`; return its exit code."""
    values = dict(zip(arguments[::2], arguments[1::2]))
    program = os.path.join(folder, "footplate", "node", "__main__.py")
    return Supervisor().run(program, arguments, int(values["--lock"]) if "--lock" in values else None)


class Supervisor:
    """Keeps one agent alive until it exits by itself or somebody asks to stop."""

    def __init__(self) -> None:
        self._child: int | None = None
        self._is_stopping = False
        for number in _FORWARDED:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number != signal.SIGUSR1:
            self._is_stopping = True
        if self._child is not None:
            os.kill(self._child, number)

    def run(self, program: str, arguments: list[str], lock: int | None) -> int:
        """Start the agent, again if it is killed; return its exit code, or 128 plus the number of a signal."""
        deaths = 0
        while True:
            began = time.monotonic()
            code = self._run_once(program, arguments, lock)
            if code >= 0:
                return code
            deaths = 1 if time.monotonic() - began > HEALTHY_SECONDS else deaths + 1
            if self._is_stopping or deaths > RESTARTS:
                return 128 - code
            _say(f"the agent was killed by signal {-code}; it is started again")
            time.sleep(min(PAUSES[0] * 2 ** (deaths - 1), PAUSES[1]))
            if self._is_stopping:
                return 128 - code

    def _run_once(self, program: str, arguments: list[str], lock: int | None) -> int:
        """Run the agent. It begins with our signals blocked: one that comes early must wait for it, and not kill it."""
        parent, (lifeline, write_end) = os.getpid(), os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
        try:
            if self._is_stopping:
                return STOPPED
            pid = os.fork()
            if pid == 0:
                _become_agent(program, arguments, lock, parent, lifeline)
            self._child = pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        os.close(lifeline)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self._child = None  # from here on its number may be that of another process
        os.close(write_end)
        status = os.waitpid(pid, 0)[1]
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def _become_agent(program: str, arguments: list[str], lock: int | None, parent: int, lifeline: int) -> None:
    """Turn the forked child into the agent; never returns."""
    code: object = 70
    try:
        _close_files(lock, lifeline)
        _die_with(parent, lifeline)
        for number in _FORWARDED:  # still blocked: they wait until the agent handles them
            signal.signal(number, signal.SIG_DFL)
        sys.argv = [program, *arguments]
        main = type(sys)("__main__")
        main.__file__ = program
        ours, sys.modules["__main__"] = sys.modules["__main__"], main  # ours is kept: this function needs its globals
        with open(program, "rb") as file:
            text = file.read()
        exec(compile(text, program, "exec"), main.__dict__)
        code = 0
        del ours
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        if code is not None and not isinstance(code, int):
            _say(str(code))
        _exit(code if isinstance(code, int) else int(code is not None))


def _close_files(*exceptions: int | None) -> None:
    """Close everything but both outputs and these files, and read nothing."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in map(int, os.listdir("/proc/self/fd")):  # before Python 3.10, closerange tries every number
        if number > 2 and number not in exceptions:
            try:
                os.close(number)
            except OSError:  # the directory that was listed
                pass


def _exit(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def _die_with(parent: int, lifeline: int) -> None:
    """Kill this process when its parent dies: the engine watches the parent only. Ranks survive, as always.

    The parent holds the other end of the lifeline. The kernel signals whoever owns this end when that one is closed.
    prctl(2) could do the same, but the import of ctypes takes milliseconds.
    """
    try:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    except (OSError, AttributeError):  # not Linux
        return
    if os.getppid() != parent:
        os._exit(STOPPED)


def _say(words: str) -> None:
    sys.stderr.write("footplate: " + words + "\n")
    sys.stderr.flush()
