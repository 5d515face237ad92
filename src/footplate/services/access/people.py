"""People and service accounts, and their roles."""

from __future__ import annotations

import time

from footplate.domain.access.people import (
    ASSIGNEES,
    EVERYWHERE,
    KINDS,
    PERSON,
    ROLES,
    USER,
    PersonView,
    RoleView,
    TokenView,
    check_choice,
    check_name,
    highest,
)
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.services.access.identities import AccessCache, Identity, limited
from footplate.storage import Storage


class PeopleService:
    def __init__(self, store: Storage, cache: AccessCache) -> None:
        self._store = store
        self._cache = cache

    # ── People ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        name: str,
        kind: str = PERSON,
        display_name: str | None = None,
        email: str | None = None,
        groups: tuple[str, ...] = (),
    ) -> PersonView:
        check_name(name)
        check_choice("kind", kind, KINDS)
        person = PersonView(name, kind, time.time(), display_name, email, groups)
        if not self._store.people.add(person):
            raise Conflict(f"there is a person {name!r} already", "names are never given twice; choose another")
        return person

    def list(self) -> list[PersonView]:
        return self._store.people.list()

    def get(self, name: str) -> PersonView:
        return self._store.people.get(name)

    def change(
        self,
        name: str,
        display_name: str | None = None,
        email: str | None = None,
        groups: tuple[str, ...] | None = None,
        disabled: bool | None = None,
    ) -> PersonView:
        """Change what is given. A provider sets the details of those who sign in again, each time they do."""
        values = {"display_name": display_name, "email": email, "groups": None if groups is None else list(groups)}
        changes: dict[str, object] = {key: value for key, value in values.items() if value is not None}
        if disabled is not None:
            changes["disabled"] = time.time() if disabled else None
        if changes:
            self._store.people.change(name, **changes)
        self._cache.forget()
        return self._store.people.get(name)

    # ── Roles ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def grant(self, workspace: str, kind: str, name: str, role: str) -> RoleView:
        """Give a user or a group a role in a workspace, in place of the one that it has there."""
        check_choice("kind", kind, ASSIGNEES)
        check_choice("role", role, ROLES)
        if kind == USER:
            self._store.people.get(name)
        elif not name or len(name) > 1024:
            raise InvalidInput(f"{name!r} cannot be the name of a group", "name a group as the provider does")
        if workspace != EVERYWHERE:
            self._store.workspaces.get(workspace)
        granted = RoleView(workspace, kind, name, role)
        self._store.roles.put(granted)
        self._cache.forget()
        return granted

    def withdraw(self, workspace: str, kind: str, name: str) -> None:
        if not self._store.roles.delete(workspace, kind, name):
            where = "everywhere" if workspace == EVERYWHERE else "in this workspace"
            raise NotFound(f"{kind} {name!r} has no role {where}", "list roles with: footplate roles list")
        self._cache.forget()

    def roles_in(self, workspace: str) -> list[RoleView]:
        """Return the roles that count in a workspace, including those everywhere."""
        return self._store.roles.list(list({workspace, EVERYWHERE}))

    # ── Identities ────────────────────────────────────────────────────────────────────────────────────────────────────

    def identity(self, person: PersonView, token: TokenView | None = None, credential: str | None = None) -> Identity:
        """Return the person with the roles of the moment, as far as the token leaves them."""
        roles: dict[str, str] = {}
        for workspace, role in self._store.roles.held_by(person.name, person.groups):
            roles[workspace] = highest((role, roles.get(workspace, role))) or role
        return Identity(person, limited(roles, token), token, credential or (token.id if token else None))

    def recall_submitter(self, name: str) -> Identity | None:
        """Return the person who submitted a run, if it was looked up a moment ago."""
        return self._cache.identities.get(("submitter", name))

    def submitter(self, name: str) -> Identity:
        """Return the person who submitted a run; a disabled one has no roles any more."""
        mark = self._cache.identities.mark
        person = self._store.people.get(name)
        identity = self.identity(person) if person.disabled is None else Identity(person, {})
        self._cache.identities.put(("submitter", name), identity, mark)
        return identity
