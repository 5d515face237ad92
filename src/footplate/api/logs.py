"""Logs for readers: lines by number, offset or time, and searches."""

from __future__ import annotations

from typing import Optional

from footplate.api.base import ApiNoun
from footplate.domain.replies import LogMatches, LogPage, Moment


class LogsApi(ApiNoun):
    def lines(
        self,
        run: str,
        path: str,
        *,
        line: Optional[int] = None,
        offset: Optional[int] = None,
        time: Optional[float] = None,
        limit: Optional[int] = None,
        back: bool = False,
    ) -> LogPage:
        """Return lines of a log from one place on; with `back`, those before it; without a place, the last ones."""
        query = {"line": line, "offset": offset, "time": time, "limit": limit, "back": back or None}
        return self._get(LogPage, "/runs/{run}/log-lines/{path}", query, run=run, path=path)

    def search(
        self,
        run: str,
        path: str,
        pattern: str = "",
        *,
        mode: Optional[str] = None,
        case: bool = False,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> LogMatches:
        """Find lines with a text; `mode`: regex for a regular expression, errors for those that begin an error."""
        query = {
            "pattern": pattern or None, "mode": mode, "case": case or None, "offset": offset, "limit": limit,
        }  # fmt: skip
        return self._get(LogMatches, "/runs/{run}/log-search/{path}", query, run=run, path=path)

    def moment(self, run: str, time: float, *, lines: Optional[int] = None) -> Moment:
        """Return what happened at a time: lines of all logs, samples of the machines, events, and the checkpoint."""
        return self._get(Moment, "/runs/{run}/moment", {"time": time, "lines": lines}, run=run)
