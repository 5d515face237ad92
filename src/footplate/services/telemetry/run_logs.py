"""Logs for readers: pages of lines, and searches."""

from __future__ import annotations

from footplate.domain.replies import LogMatches, LogPage
from footplate.storage import Storage
from footplate.storage.log_reading.log_reader import LogPlace


class LogService:
    def __init__(self, store: Storage) -> None:
        self._reader = store.log_reader

    def page(self, run: str, path: str, place: LogPlace, limit: int, back: bool) -> LogPage:
        return self._reader.page(run, path, place, limit, back)

    def search(
        self, run: str, path: str, mode: str, pattern: str, is_case_sensitive: bool, offset: int, limit: int
    ) -> LogMatches:
        return self._reader.search(run, path, mode, pattern, is_case_sensitive, offset, limit)
