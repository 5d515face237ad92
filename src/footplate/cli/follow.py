"""Follows a run: its log goes to stdout as it grows, its phases to stderr as they change."""

from __future__ import annotations

import signal
import time

import click

from footplate.cli.console import duration, is_terminal, say, with_options
from footplate.domain.launch import first_log
from footplate.domain.records import RunView, Stage
from footplate.domain.runs import run_status
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.display.status_line import Live
from footplate.sdk.session import Session

CANCELED = 130
FAILED = 1
LOOK_SECONDS = 5.0
"""How long to wait for news: a full disk changes nothing in the run, so it is no news."""

RUNNING = "Running"
INTERACTIVE_LOG = "logs/user_log.txt"


def follow(
    session: Session,
    run_id: str,
    *,
    log: str | None = None,
    show: bool = True,
    to_stderr: bool = False,
    printed: tuple[str, int] | None = None,
) -> RunView:
    """Wait until the run has ended and return it. `show` prints a log (by default the script's) and the phases.

    While the environment is built, the build's log is printed to stderr instead. `printed`: a log, and how many of its
    bytes the caller has printed.
    """
    with Live() as live:
        follower = _LogPrinter(session, run_id, log, show, to_stderr, live, printed or (log, 0))
        while not follower.has_ended:
            follower.look()
    assert follower.run is not None
    if follower.is_mid_line and is_terminal():
        say("")
    say(f"── {summary(follower.run)}", follower.run.status)
    return follower.run


class _LogPrinter:
    def __init__(
        self, session: Session, run_id: str, log: str | None, show: bool, to_stderr: bool, live: Live,
        printed: tuple[str | None, int],
    ) -> None:  # fmt: skip
        self._live = live
        self.is_mid_line = False
        self._session, self._run_id = session, run_id
        self._named = log is not None
        self._log: str | None = printed[0]
        self._offset: int = printed[1]
        self._show, self._to_stderr = show, to_stderr
        self._phase = ""
        self._has_run = False
        self._warned = set[str]()
        self.has_ended = False
        self.run: RunView | None = None

    def look(self) -> None:
        """Wait for news and print it."""
        version = self.run.version if self.run else -1
        seen = self._session.api.runs.follow(
            self._run_id, version=version, log=self._log, offset=self._offset, wait=LOOK_SECONDS
        )
        self._print_new_warnings(seen.run)
        self.run = seen.run
        if seen.log is not None:
            self._log, self._offset = seen.log, seen.offset
        # The decision about the line is included, or it could be drawn over half a line of output.
        with self._live.aside():
            if self._show:
                self._print(seen.text, self.run)
            self._update_status_line(self.run)
        # The server reads the run before the log: if the run has ended and nothing new arrived, the log is complete.
        self.has_ended = self.run.status in TERMINAL and not seen.text and not self._switch_to_script_log(self.run)

    def _print_new_warnings(self, run: RunView) -> None:
        """Print warnings that appear while we watch, such as a full disk: nothing else tells why nothing happens."""
        for warning in run.warnings if self.run else ():
            if warning not in self._warned:
                with self._live.aside():
                    if self.is_mid_line:
                        say("")
                    say(f"warning: {warning}")
                    self.is_mid_line = False
        self._warned.update(run.warnings)

    def _print(self, text: str, run: RunView) -> None:
        # Finalizing stays on the live line: the last part of the script's log arrives only then, perhaps in mid-line.
        if run.ended is None and run.status != "Finalizing":
            self._print_phase(phase_of(run), run.status)
        elif run.started is not None and self._phase and not self._has_run:  # it ran between two looks
            self._print_phase(RUNNING, RUNNING)
        if text:
            is_talk = self._to_stderr or (not self._named and self._log != script_log(run))
            click.echo(text, nl=False, err=is_talk)
            self.is_mid_line = not text.endswith("\n")
        self._switch_to_script_log(run)

    def _update_status_line(self, run: RunView) -> None:
        """Show the phase on the terminal's last line, unless the script's output is there."""
        if run.status in TERMINAL or self.is_mid_line or (self._show and run.status == "Running"):
            self._live.hide()
        else:
            self._live.show(run_status.visible_status(run.status, run.waiting) if self._show else phase_of(run))

    def _print_phase(self, phase: str, status: str) -> None:
        if phase == self._phase:
            return
        self._phase, self._has_run = phase, self._has_run or status == RUNNING
        if not self.is_mid_line:  # the first output may arrive before the phase Running, and may end in mid-line
            say(f"── {self._phase}", status)

    def _switch_to_script_log(self, run: RunView) -> bool:
        """Switch from the log of the build to that of the script once it has started; return whether it switched."""
        if self._named or run.started is None or self._log == script_log(run):
            return False
        self._log = script_log(run)
        self._offset = 0
        return True


def script_log(run: RunView) -> str:
    if run.spec is None or not kind_of(run).has_nodes:
        return INTERACTIVE_LOG
    return first_log(run.spec.distribution)


def phase_of(run: RunView) -> str:
    """Describe what the run is doing."""
    if run.status == "Queued" and run.waiting:
        place = f", position {run.waiting.position}" if run.waiting.position else ""
        return f"Queued{place}: {run.waiting.reason}"
    if run.status == "Provisioning" and run.waiting:
        status = run_status.visible_status(run.status, run.waiting)
        return f"{status}: {run.waiting.reason}{describe_start(run.waiting.latest)}"
    if run.stage is Stage.LOCKING:
        return f"{run.status}: resolving the environment"
    doing = next((node.message for node in run.nodes if node.message), None)
    return f"{run.status}: {doing}" if run.status in ("Preparing", "Finalizing") and doing else run.status


def describe_start(start: float | None) -> str:
    """Return when a waiting run is expected to start, as an addition to the reason."""
    return "" if start is None else f" (expected to start in {duration(max(0.0, start - time.time()))})"


def exit_code(run: RunView) -> int:
    """Return the run's exit code: 0, the script's own code, 128 + its signal, or 130 if canceled."""
    if run.status == "Completed":
        return 0
    if run.status == "Canceled":
        return CANCELED
    cause = run.outcome.cause if run.outcome else None
    if cause and cause.signal:
        number = getattr(signal, cause.signal, None)
        return 128 + int(number) if number else FAILED
    return cause.exit_code % 256 or FAILED if cause and cause.exit_code else FAILED


def summary(run: RunView) -> str:
    """Describe how the run ended, in a line or two."""
    took = f" after {duration(run.ended - run.started)}" if run.ended and run.started else ""
    cause = run.outcome.cause if run.outcome else None
    why = f": {cause.message}" if cause else ""
    hint = f"\nhint: {with_options(cause.hint)}" if cause and cause.hint else ""
    return f"{run.status}{took}{why}{hint}"
