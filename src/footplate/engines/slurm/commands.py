"""Calls Slurm's commands, here or on a login node, and cancels many jobs with few calls."""

from __future__ import annotations

import heapq
import logging
import os
import shlex
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from footplate.domain.inherited_variables import job_variables
from footplate.errors import FootplateError, InvalidInput, Unavailable

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 60.0
_AWAY = (
    "Unable to contact slurm controller", "Socket timed out", "Connection refused", "Connection timed out",
    "Zero Bytes were transmitted", "slurmctld", "Transport endpoint", "Communication connection failure",
    "Munge", "in standby mode", "temporarily unable",
)  # fmt: skip
"""Parts of messages of Slurm's commands that mean: later. Everything else is refused for good."""

# Reads NAME=VALUE lines up to an empty one; the command gets the rest of the input.
_EXPORT = 'while IFS= read -r line && [ -n "$line" ]; do export "$line"; done'

_SSH_OPTIONS = (
    "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ControlMaster=auto", "-o", "ControlPersist=30",
    "-o", "ControlPath=~/.ssh/footplate-%C",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Place:
    """Where Slurm's commands run: on `host` over the command `ssh`, or on this machine if `host` is empty."""

    host: str = ""
    ssh: str = "ssh"

    def call(
        self, command: Sequence[str], text: str = "", variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; raise Unavailable if the machine or Slurm's controller does not answer.

        `variables` may hold secrets: they never appear in a command line. Over ssh, they precede `text`.
        """
        if self.host and variables is not None:
            lines = "".join(f"{name}={value}\n" for name, value in sorted(variables.items()))
            command, text, variables = ["sh", "-c", f"{_EXPORT}; exec {shlex.join(command)}"], f"{lines}\n{text}", None
        argv = [*shlex.split(self.ssh), *_SSH_OPTIONS, self.host, shlex.join(command)] if self.host else list(command)
        try:
            done = subprocess.run(
                argv, input=text, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS,
                env={**_variables(), **(variables or {})}, cwd="/",
                check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise InvalidInput(
                f"the command {argv[0]!r} is not installed on the server's machine",
                "run the server on a login node of the cluster, or set the option host",
            ) from None
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{command[0]} did not answer within {_TIMEOUT_SECONDS:g} s", self._hint()) from None
        if done.returncode and ((self.host and done.returncode == 255) or any(each in done.stderr for each in _AWAY)):
            raise Unavailable(f"Slurm cannot be reached: {done.stderr.strip()}", self._hint())
        return done

    def ask(self, command: Sequence[str], unless: str | None = None) -> str | None:
        """Return the output of a command that only reads; None if it complains about `unless`."""
        done = self.call(command)
        if done.returncode and (unless is None or unless not in done.stderr):
            raise Unavailable(f"Slurm gave no answer: {done.stderr.strip()}", self._hint())
        return None if done.returncode else done.stdout

    def _hint(self) -> str:
        return f"try: ssh {self.host} sinfo" if self.host else "try: sinfo"


def _variables() -> dict[str, str]:
    """Return the environment of Slurm's commands, which sbatch hands on to the job: little of the server's own."""
    ours = {name: os.environ[name] for name in ("SLURM_CONF", "SSH_AUTH_SOCK") if name in os.environ}
    return {**job_variables(os.environ), **ours, "SLURM_TIME_FORMAT": "%s"}


# ── Cancelling ────────────────────────────────────────────────────────────────────────────────────────────────────────

_PAUSE_SECONDS = 5.0
_ASK_SECONDS = (0.0, 10.0, 40.0)
"""When a job is asked, counted from the cancellation: a request may get lost while the controller restarts."""

_PATIENCE_SECONDS = 3600.0
_BATCH = 500

# A job that waits is removed. One that runs has its script asked, which passes the request on to the agents; SIGTERM
# would keep it from doing so.
_ASK = (("--state=PENDING",), ("--state=RUNNING", "--batch", "--signal=USR2"))
_FORCE = ((),)


@dataclass(frozen=True, order=True)
class _Cancellation:
    due: float
    until: float
    place: Place
    job: str
    force: bool


class Canceller:
    """One thread, which lives as long as there is something to cancel: now politely, after the grace by force.

    While Slurm cannot be reached it tries again. The script of a job uses force by itself if the server goes away.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Cancellation] = []
        self._works = False

    def add(self, place: Place, job: str, grace: float) -> None:
        now = time.monotonic()
        with self._changed:
            asks = [(now + pause, False) for pause in _ASK_SECONDS if pause == 0 or pause < grace]
            for due, force in (*asks, (now + grace, True)):
                heapq.heappush(self._waiting, _Cancellation(due, due + _PATIENCE_SECONDS, place, job, force))
            if not self._works:
                self._works = True
                threading.Thread(target=self._work, name="scancel", daemon=True).start()
            self._changed.notify()

    def _work(self) -> None:
        while due := self._take():
            groups = defaultdict[tuple[Place, bool], list[_Cancellation]](list)
            for each in due:
                groups[each.place, each.force].append(each)
            for (place, force), members in groups.items():
                try:
                    for choice in _FORCE if force else _ASK:
                        place.call(["scancel", "--quiet", *choice, *(each.job for each in members)])
                except FootplateError as error:
                    self._put_off(members, error)

    def _take(self) -> list[_Cancellation]:
        """Wait for cancellations that are due, and return them; none if there are none left to wait for."""
        with self._changed:
            while self._waiting and (remaining := self._waiting[0].due - time.monotonic()) > 0:
                self._changed.wait(remaining)
            due = list[_Cancellation]()
            while self._waiting and self._waiting[0].due <= time.monotonic() and len(due) < _BATCH:
                due.append(heapq.heappop(self._waiting))
            self._works = bool(due)
            return due

    def _put_off(self, members: Sequence[_Cancellation], error: FootplateError) -> None:
        log.warning("%d Slurm jobs are not cancelled yet: %s", len(members), error.message)
        later = time.monotonic() + _PAUSE_SECONDS
        with self._changed:
            for each in members:
                if later < each.until:
                    again = _Cancellation(later, each.until, each.place, each.job, each.force)
                    heapq.heappush(self._waiting, again)
