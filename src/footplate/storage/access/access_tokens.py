"""Tokens of people and service accounts: digests, never the tokens themselves."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update

from footplate.domain.access.people import PersonView, TokenView
from footplate.storage.database import Database
from footplate.storage.schema import access_tokens, people

_c = access_tokens.c
_VIEW = (_c.id, _c.person, _c.label, _c.created, _c.expires, _c.workspace, _c.read_only, _c.last_used)
_HOLDER = (
    select(access_tokens, people.c.kind, people.c.groups, people.c.disabled)
    .add_columns(people.c.created.label("person_created"), people.c.display_name)
    .join(people, people.c.name == _c.person)
)
_BY_DIGEST = _HOLDER.where(_c.digest == bindparam("digest"))
_BY_ID = _HOLDER.where(_c.id == bindparam("id"))


class HeldToken(NamedTuple):
    """A token and the person that it belongs to."""

    token: TokenView
    person: PersonView


class AccessTokens:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: TokenView, digest: str) -> None:
        row = {name: getattr(token, name) for name in TokenView.__dataclass_fields__}
        with self._database.write() as connection:
            connection.execute(insert(access_tokens).values(**row, digest=digest))

    def find(self, digest: str) -> HeldToken | None:
        return _held(self._database.one(_BY_DIGEST, {"digest": digest}))

    def get(self, id: str) -> HeldToken | None:
        return _held(self._database.one(_BY_ID, {"id": id}))

    def list(self, person: str | None = None) -> builtins.list[TokenView]:
        """Return the tokens of a person, or of everybody."""
        query = select(*_VIEW).order_by(_c.person, _c.created)
        return [
            TokenView(*row) for row in self._database.all(query if person is None else query.where(_c.person == person))
        ]

    def delete(self, id: str) -> bool:
        return self._database.execute(delete(access_tokens).where(_c.id == id)) > 0

    def note_use(self, id: str, now: float) -> None:
        self._database.execute(update(access_tokens).where(_c.id == id).values(last_used=now))


def _held(row: Any) -> HeldToken | None:
    if row is None:
        return None
    token = TokenView(*(getattr(row, column.name) for column in _VIEW))
    person = PersonView(
        row.person, row.kind, row.person_created, row.display_name, groups=tuple(row.groups), disabled=row.disabled
    )
    return HeldToken(token, person)
