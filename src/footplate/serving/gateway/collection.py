"""Samples of requests and responses (`collect_model_data`), in files of a bounded size.

And rows that `ModelDataCollector` keeps on other machines: workers send them with their answers.
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from typing import Any

from footplate.domain.serving.routes import OLDER, ServiceRoute
from footplate.serving.gateway.http import HttpRequest
from footplate.serving.gateway.worker_link import Answer
from footplate.serving.worker.data_collector import KeptRows, append_rows

FILE_BYTES = 64 << 20
BODY_BYTES = 256 * 1024

log = logging.getLogger("footplate.gateway")


def is_sampled(service: ServiceRoute) -> bool:
    """Decide whether a request is collected, here and by collectors in the service's script."""
    return bool(service.collect) and random.random() < service.collect_share


def collect(path: str, service: str, request: HttpRequest, answer: Answer, request_id: str) -> None:
    """Append a request and its response to the service's file.

    A file that is full replaces the one before it. A sample that cannot be written is lost, and no request fails.
    """
    line = {"time": time.time(), "id": request_id, "status": answer[0]}
    line.update(_text("request", request.body))
    line.update(_text("response", answer[3]))
    try:
        append(path, json.dumps(line) + "\n")
    except OSError as error:
        log.warning("service %s: request %s is not collected: %s", service, request_id, error)


def _text(name: str, body: bytes) -> dict[str, Any]:
    """Return a body as text, and its size if only its beginning is kept."""
    text = body[:BODY_BYTES].decode("utf-8", "replace")
    return {name: text, f"{name}_bytes": len(body)} if len(body) > BODY_BYTES else {name: text}


def append(path: str, line: str, most: int = FILE_BYTES) -> None:
    """Add a line to a file; one that would become longer than `most` bytes replaces the older file first."""
    with open(path, "a", encoding="utf-8") as file:
        size = file.tell()
    if size and size + len(line) > most:  # JSON is ASCII: as many bytes as characters
        os.replace(path, path + OLDER)
    with open(path, "a", encoding="utf-8") as file:
        file.write(line)


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
