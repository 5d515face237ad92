"""People and service accounts, their roles, and switches of the server."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, delete, or_, select, update

from footplate.domain.access.people import GROUP, USER, PersonView, RoleView
from footplate.errors import NotFound
from footplate.storage.database import Database
from footplate.storage.schema import people, roles, server_state

_PERSON = select(people).where(people.c.name == bindparam("name"))
_ROLES = select(roles.c.workspace, roles.c.role).where(
    or_(
        and_(roles.c.kind == USER, roles.c.name == bindparam("name")),
        and_(roles.c.kind == GROUP, roles.c.name.in_(bindparam("groups", expanding=True))),
    )
)
_GROUPS_AT_ONCE = 500
"""Databases limit the parameters of a statement, and providers may name thousands of groups."""


class People:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, person: PersonView, subject: str | None = None) -> bool:
        """Store a person; return False if the name exists, or if the subject has one."""
        row = {
            "name": person.name, "kind": person.kind, "created": person.created, "display_name": person.display_name,
            "email": person.email, "groups": list(person.groups), "subject": subject,
        }  # fmt: skip
        with self._database.write() as connection:
            return self._database.insert_new(connection, people, **row)

    def get(self, name: str) -> PersonView:
        row = self._database.one(_PERSON, {"name": name})
        if row is None:
            raise NotFound(f"there is no person {name!r}", "list them with: footplate people list")
        return _view(row)

    def find_by_subject(self, subject: str) -> PersonView | None:
        row = self._database.one(select(people).where(people.c.subject == subject))
        return None if row is None else _view(row)

    def list(self) -> builtins.list[PersonView]:
        return [_view(row) for row in self._database.all(select(people).order_by(people.c.name))]

    def change(self, name: str, **values: Any) -> None:
        """Set columns of a person: `display_name`, `email`, `groups`, `disabled`, `subject`."""
        if not self._database.execute(update(people).where(people.c.name == name).values(**values)):
            raise NotFound(f"there is no person {name!r}", "list them with: footplate people list")


class Roles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, role: RoleView) -> None:
        row = {"workspace": role.workspace, "kind": role.kind, "name": role.name, "role": role.role}
        with self._database.write() as connection:
            self._database.put(connection, roles, ("workspace", "kind", "name"), row)

    def delete(self, workspace: str, kind: str, name: str) -> bool:
        c = roles.c
        condition = and_(c.workspace == workspace, c.kind == kind, c.name == name)
        return self._database.execute(delete(roles).where(condition)) > 0

    def list(self, workspaces: Sequence[str]) -> builtins.list[RoleView]:
        c = roles.c
        query = select(c.workspace, c.kind, c.name, c.role).where(c.workspace.in_(workspaces))
        return [RoleView(*row) for row in self._database.all(query.order_by(c.workspace, c.kind, c.name))]

    def held_by(self, name: str, groups: Sequence[str]) -> Iterable[tuple[str, str]]:
        """Yield the workspace and the role of each role that the person has, as itself or by a group."""
        for start in range(0, max(len(groups), 1), _GROUPS_AT_ONCE):
            some = list(groups[start : start + _GROUPS_AT_ONCE])
            for row in self._database.all(_ROLES, {"name": name, "groups": some}):
                yield row.workspace, row.role


class ServerState:
    """Switches that outlive the server process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, name: str, value: Any) -> None:
        with self._database.write() as connection:
            self._database.put(connection, server_state, ("name",), {"name": name, "value": value})

    def get(self, name: str, default: Any = None) -> Any:
        row = self._database.one(select(server_state.c.value).where(server_state.c.name == name))
        return default if row is None else row.value


def _view(row: Any) -> PersonView:
    return PersonView(
        row.name, row.kind, row.created, row.display_name, row.email, tuple(row.groups), row.disabled,
        row.subject is not None,
    )  # fmt: skip
