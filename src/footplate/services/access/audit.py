"""The audit log: who did what, when, and from where."""

from __future__ import annotations

from dataclasses import dataclass

from footplate.domain.access.people import AuditEntry, AuditQuery
from footplate.storage import Storage


@dataclass(frozen=True)
class AuditService:
    store: Storage

    def record(self, entry: AuditEntry) -> None:
        self.store.audit.add(entry)

    def list(self, query: AuditQuery, limit: int, cursor: str | None) -> tuple[list[AuditEntry], str | None]:
        """Return a page of entries, the newest first, and the cursor of the next page."""
        before = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
        entries = self.store.audit.list(query, limit + 1, before)
        following = str(entries[limit - 1].number) if len(entries) > limit else None
        return entries[:limit], following
