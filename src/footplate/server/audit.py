"""Entries of the audit log for requests: those whose right says so, with their outcome."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from fastapi import Request

from footplate.api import PREFIX
from footplate.domain.access.people import AuditEntry
from footplate.errors import FootplateError
from footplate.server.auth import Principal
from footplate.server.rights import Log, Right

log = logging.getLogger(__name__)

_DETAIL = "audit_detail"

SOCKET = "socket"
"""The source of requests on the server's own socket."""


class _Audit(Protocol):
    def record(self, entry: AuditEntry) -> None: ...


class Recorder(Protocol):
    @property
    def audit(self) -> _Audit: ...


def is_recorded(right: Right, principal: Principal) -> bool:
    return right.log is Log.ALL or (right.log is Log.PEOPLE and principal.run is None)


async def record(request: Request, services: Recorder, action: str, status: int) -> None:
    """Add the request to the audit log. A request that was answered is not undone if that fails."""
    principal: Principal = request.scope["principal"]
    who = principal.name or (f"run {principal.run}" if principal.run else "nobody")
    objects = {name: _storable(str(value)) for name, value in request.path_params.items()}
    path = _storable(request.url.path.removeprefix(PREFIX))
    detail = request.scope.get(_DETAIL)
    entry = AuditEntry(
        0, time.time(), who, action, request.method, path, status, source_of(request),
        objects.get("workspace"), objects.get("run"), principal.credential, _storable(detail) if detail else None,
    )  # fmt: skip
    try:
        await asyncio.to_thread(services.audit.record, entry)
    except FootplateError as error:
        log.error("the audit log cannot be written: %s %s by %s: %s", entry.method, entry.path, who, error)


def _storable(text: str) -> str:
    """Escape what no database stores, so that no request escapes the log by its path."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def note_detail(request: Request, text: str) -> None:
    """Add to the entry of this request what its body names."""
    request.scope[_DETAIL] = text


def source_of(request: Request) -> str:
    return request.client.host if request.client else SOCKET
