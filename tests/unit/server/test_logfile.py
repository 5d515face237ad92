from __future__ import annotations

import logging

from footplate.server.logfile import BURST, QUIET_SECONDS, RepeatFilter


def test_repeated_warnings_are_counted_instead_of_logged():
    now = [0.0]
    repeats = RepeatFilter(lambda: now[0])

    def passes(level: int, **more: str) -> logging.LogRecord | None:
        record = logging.LogRecord("n", level, "place.py", 7, "cannot accept %s", ("x",), None)
        vars(record).update(more)
        return record if repeats.filter(record) else None

    assert sum(passes(logging.ERROR) is not None for _ in range(100)) == BURST
    assert passes(logging.INFO) is not None, "only warnings and errors are limited"
    assert passes(logging.ERROR, incident="ab12") is not None, "a client has its number"
    now[0] = QUIET_SECONDS
    record = passes(logging.ERROR)
    assert record is not None and record.getMessage() == "cannot accept x (95 more of these in the last 60 s)"
