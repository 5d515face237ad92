"""Identities: a person with what one of its credentials allows, and those that were found a moment ago."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from footplate.domain.access.people import EVERYWHERE, OWNER, READER, PersonView, TokenView, highest, role_rank
from footplate.services.access.recent import Recent


@dataclass(frozen=True)
class Identity:
    """A person or service account, and the roles that the credential of the request leaves it."""

    person: PersonView
    roles: Mapping[str, str]  # by workspace; EVERYWHERE holds for all
    token: TokenView | None = None
    credential: str | None = None

    @property
    def name(self) -> str:
        return self.person.name

    @property
    def is_limited(self) -> bool:
        """Whether the credential allows less than the person may do."""
        return self.token is not None and (self.token.read_only or self.token.workspace is not None)

    def role_in(self, workspace: str | None) -> str | None:
        """Return the role in a workspace."""
        candidates = (self.roles.get(EVERYWHERE), self.roles.get(workspace or EVERYWHERE))
        return highest(role for role in candidates if role)

    def highest_role(self) -> str | None:
        """Return the highest role in any workspace, for what belongs to none."""
        return highest(self.roles.values())

    @property
    def owns_server(self) -> bool:
        return self.roles.get(EVERYWHERE) == OWNER


def limited(roles: Mapping[str, str], token: TokenView | None) -> dict[str, str]:
    """Return the roles that a token leaves: those in its workspace, and at most those of a reader if it only reads."""
    remaining = dict(roles)
    if token is not None and token.workspace is not None:
        role = highest(roles[each] for each in (EVERYWHERE, token.workspace) if each in roles)
        remaining = {token.workspace: role} if role else {}
    if token is not None and token.read_only:
        remaining = dict.fromkeys(remaining, READER)
    return remaining


@dataclass(frozen=True)
class SessionHolder:
    """The identity behind a session; None is the owner of the server."""

    identity: Identity | None
    credential: str | None


@dataclass
class AccessCache:
    """Credentials that were verified a moment ago. A change of people, roles or tokens forgets them all."""

    identities: Recent[Hashable, Identity] = field(default_factory=Recent[Hashable, Identity])
    sessions: Recent[tuple[str, str], SessionHolder] = field(default_factory=Recent[tuple[str, str], SessionHolder])
    switches: Recent[str, bool] = field(default_factory=Recent[str, bool])

    def forget(self) -> None:
        self.identities.forget()
        self.sessions.forget()
        self.switches.forget()


def allows(role: str | None, needed: str) -> bool:
    """Return whether a role includes the one that is needed."""
    return role_rank(role) >= role_rank(needed)
