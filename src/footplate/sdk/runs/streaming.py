"""Waits for a run, silently or with its output. Long polls deliver news as it happens."""

from __future__ import annotations

import sys
from typing import Optional

from footplate.api import LONG_POLL
from footplate.domain.launch import first_log
from footplate.domain.records import RunView, Stage
from footplate.domain.replies import RunProgress
from footplate.domain.runs import run_status
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.text import duration
from footplate.sdk.display.status_line import Live
from footplate.sdk.exceptions import ExperimentExecutionException
from footplate.sdk.session import Session

_WAITS = ("waiting", "ready, waits")


def wait(session: Session, run_id: str, show_output: bool) -> RunView:
    """Return the run when it has ended. Ctrl-C stops waiting and leaves the run running."""
    try:
        return _Follower(session, run_id).follow() if show_output else _wait(session, run_id)
    except KeyboardInterrupt as interrupt:
        raise ExperimentExecutionException(
            f"Waiting was interrupted. Run {run_id} continues.",
            interrupt,
            hint=f"cancel it with: footplate runs cancel {run_id}",
        ) from None


def _wait(session: Session, run_id: str) -> RunView:
    if sys.stderr is not None and sys.stderr.isatty():
        return _wait_with_status(session, run_id)
    version = -1
    while True:
        view = session.api.runs.get(run_id, version=version, until="ended", wait=LONG_POLL)
        if view.status in run_status.TERMINAL:
            return view
        version = view.version


def _wait_with_status(session: Session, run_id: str) -> RunView:
    """Show what the run is doing on the last line of the terminal, which is empty again at the end.

    While the environment is built, it is the last line of the build. The script's output is not read.
    """
    log: Optional[str] = None
    offset, last = 0, ""
    view = session.api.runs.get(run_id)
    with Live() as live:
        while view.status not in run_status.TERMINAL:
            building = view.stage is Stage.PREPARING and last.strip()
            live.show(f"{run_id}: {building or _phase(view)}")
            if view.started is not None:
                view = session.api.runs.get(run_id, version=view.version, wait=LONG_POLL)
                continue
            news = session.api.runs.follow(run_id, version=view.version, log=log, offset=offset, wait=LONG_POLL)
            view, log, offset = news.run, news.log, news.offset
            last = next((line for line in reversed(news.text.splitlines()) if line.strip()), last)
    return view


def _phase(view: RunView) -> str:
    """Describe what a run is doing."""
    if view.waiting is not None:
        place = f" (position {view.waiting.position})" if view.waiting.position else ""
        return f"{run_status.visible_status(view.status, view.waiting)}{place}: {view.waiting.reason}"
    if view.stage is Stage.LOCKING:
        return f"{view.status}: resolving the environment"
    doing = [node.message for node in view.nodes if node.message]
    if doing and view.status == "Preparing":
        # Waiting nodes wait for the one that is working.
        return f"{view.status}: {min(doing, key=lambda message: message.startswith(_WAITS))}"
    return view.status


class _Follower:
    """Prints the phases of a run, the output of its first rank, and a summary."""

    def __init__(self, session: Session, run_id: str) -> None:
        self._session = session
        self._run = run_id
        self._log: Optional[str] = None
        self._offset = 0
        self._last_phase = ""
        self._held: Optional[RunView] = None
        self._at_line_start = True

    def follow(self) -> RunView:
        self._say(f"RunId: {self._run}\nShow it with: footplate runs show {self._run}\n\n")
        version = -1
        while True:
            news = self._ask(version)
            view = news.run
            self._show(news, quiet=view.version == version and not news.text)
            version = view.version
            if news.text or self._switch_to_script(view):
                continue
            if view.status in run_status.TERMINAL:
                self._summarize(view)
                return view

    def _show(self, news: RunProgress, quiet: bool) -> None:
        """Print news. A script's output belongs before the phase that follows; a build's output belongs to its phase.

        The last lines of a script may arrive after the news of its end, which is held back until nothing more arrives.
        """
        view = news.run
        if view.status == "Finalizing" and not quiet:
            self._held = view
            self._show_log(news)
        elif self._log is not None and self._log.startswith("user_logs/"):
            self._show_log(news)
            self._show_phase(view)
        else:
            self._show_phase(view)
            self._show_log(news)

    def _ask(self, version: int) -> RunProgress:
        return self._session.api.runs.follow(
            self._run, version=version, log=self._log, offset=self._offset, wait=LONG_POLL
        )

    def _switch_to_script(self, view: RunView) -> bool:
        """Switch from the log of the environment build to that of the script, if that begins; return whether it did."""
        if view.started is None or view.spec is None or not kind_of(view).has_nodes:
            return False
        log = first_log(view.spec.distribution)
        if log == self._log:
            return False
        self._switch(log)
        return True

    def _switch(self, log: str) -> None:
        self._log = log
        self._offset = 0
        title = f"Streaming {log}"
        self._end_line()
        self._say(f"\n{title}\n{'=' * len(title)}\n\n")

    def _show_log(self, news: RunProgress) -> None:
        if news.log is not None and self._log is None:
            self._switch(news.log)
        if news.text:
            self._say(news.text)
        if news.log == self._log:
            self._offset = news.offset

    def _show_phase(self, view: RunView) -> None:
        if view.status in run_status.TERMINAL:  # printed in the summary
            return
        words = _phase(view)
        if words != self._last_phase:
            self._end_line()
            self._say(words + "\n")
        self._last_phase = words

    def _summarize(self, view: RunView) -> None:
        if self._held is not None:
            self._show_phase(self._held)
        self._end_line()
        self._say(f"\nExecution Summary\n=================\nRunId: {self._run}\n")
        self._say(f"Web View: {self._session.portal_url(view.workspace, f'runs/{self._run}')}\n")
        ended, started = view.ended or view.created, view.started or view.created
        self._say(f"Status: {view.status} after {duration(max(0.0, ended - started))}\n")
        cause = view.outcome.cause if view.outcome else None
        if cause is not None:
            self._say(f"Cause: {cause.message}\n")
            if cause.hint:
                self._say(f"hint: {cause.hint}\n")
        for warning in view.warnings:
            self._say(f"Warning: {warning}\n")
        self._say("\n")

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._say("\n")

    def _say(self, text: str) -> None:
        # Looked up each time: notebooks replace it from cell to cell.
        sys.stdout.write(text)
        sys.stdout.flush()
        self._at_line_start = text.endswith("\n")
