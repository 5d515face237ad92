"""Rows that `ModelDataCollector` keeps on other machines: workers send them with their answers."""

from __future__ import annotations

import logging

from footplate.serving.worker.data_collector import KeptRows, append_rows

log = logging.getLogger("footplate.gateway")


def keep_rows(folder: str, rows: KeptRows) -> None:
    """Append rows to their file below `folder`. Rows that cannot be written are lost, and no request fails."""
    parts = rows.path.split("/")
    if not rows.path.endswith(".csv") or any(part in ("", ".", "..") or "\0" in part for part in parts):
        log.warning("a worker sends rows for %r, which is not a file of collected rows", rows.path)
        return
    try:
        append_rows(folder, rows)
    except OSError as error:
        log.warning("rows for %s are not kept: %s", rows.path, error)
