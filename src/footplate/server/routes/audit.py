from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from footplate.domain.access.people import AuditEntry, AuditQuery
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import ServicesOf

router = Router("audit")


@router.get("/audit", Right.READ_AUDIT, Page(AuditEntry))
def list_audit_entries(
    services: ServicesOf,
    who: str | None = None,
    action: str | None = None,
    workspace: str | None = None,
    run: str | None = None,
    since: float | None = None,
    until: float | None = None,
    refused: bool | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: str | None = None,
) -> Response:
    """List entries of the audit log, the newest first. `action` is the name of an operation, such as `cancel_run`."""
    query = AuditQuery(who, action, workspace, run, since, until, refused)
    return answer_list(*services.audit.list(query, limit, cursor))
