"""People, service accounts, their roles and tokens, and the audit log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.errors import InvalidInput

PERSON, SERVICE = "person", "service"
KINDS = (PERSON, SERVICE)

READER, CONTRIBUTOR, OWNER = "reader", "contributor", "owner"
ROLES = (READER, CONTRIBUTOR, OWNER)
"""The roles in a workspace; each includes those before it."""

EVERYWHERE = "*"
"""In place of a workspace: a role in all of them. An owner everywhere is an owner of the server."""

USER, GROUP = "user", "group"
ASSIGNEES = (USER, GROUP)
"""A role belongs to a person or service account, or to a group that the sign-in provider names."""

_LONGEST_NAME = 128
_SIGNS = frozenset("._-@+")


@dataclass(frozen=True)
class PersonView:
    """A person or a service account. A disabled one keeps its name, which nobody else can get."""

    name: str
    kind: str
    created: float
    display_name: Optional[str] = None
    email: Optional[str] = None
    groups: Tuple[str, ...] = ()
    disabled: Optional[float] = None
    signs_in: bool = False  # through the provider; others have tokens only


@dataclass(frozen=True)
class RoleView:
    """A role in a workspace, or everywhere (`*`), of a user or of a group."""

    workspace: str
    kind: str
    name: str
    role: str


@dataclass(frozen=True)
class TokenView:
    """A token of a person, without the token itself."""

    id: str
    person: str
    label: str
    created: float
    expires: Optional[float] = None
    workspace: Optional[str] = None  # valid in this one only
    read_only: bool = False
    last_used: Optional[float] = None


@dataclass(frozen=True)
class NewToken:
    """A new token. The server keeps a digest only, so it is shown this once."""

    view: TokenView
    token: str = field(repr=False)


@dataclass(frozen=True)
class WhoAmI:
    """The principal of a request. `kind`: owner, person, service or run; roles are by workspace, `*` means all."""

    name: str
    kind: str
    roles: Dict[str, str] = field(default_factory=lambda: {})
    groups: Tuple[str, ...] = ()
    token: Optional[TokenView] = None
    link_key: Optional[str] = field(default=None, repr=False)  # signs links to files (`api/links`) for this token


@dataclass(frozen=True)
class Maker:
    """Who made a run or a web service, and in which workspace: a name to show, and the person that owns it.

    Without a person, it belongs to the owner of the server.
    """

    workspace: str
    created_by: str
    person: Optional[str] = None


@dataclass(frozen=True)
class ServerKeyView:
    """Whether the server's own token, the emergency key of its owner, is accepted."""

    accepted: bool


@dataclass(frozen=True)
class AuditEntry:
    """One request that changed something or read a secret, or one that was refused."""

    number: int
    time: float
    who: str
    action: str  # the name of the route's operation
    method: str
    path: str
    status: int
    source: str  # the address of the client; "local" on the server's own socket
    workspace: Optional[str] = None
    run: Optional[str] = None
    credential: Optional[str] = None  # the id of a token, or how a session began
    detail: Optional[str] = None  # what the body of the request named


@dataclass(frozen=True)
class AuditQuery:
    """Conditions on entries of the audit log; those that are None select nothing."""

    who: Optional[str] = None
    action: Optional[str] = None
    workspace: Optional[str] = None
    run: Optional[str] = None
    since: Optional[float] = None
    until: Optional[float] = None
    refused: Optional[bool] = None


def check_name(name: str) -> None:
    """Raise InvalidInput unless this can be the name of a person or a service account."""
    if not name or len(name) > _LONGEST_NAME or not all(c.isalnum() or c in _SIGNS for c in name):
        raise InvalidInput(
            f"{name!r} cannot be the name of a person",
            f"use up to {_LONGEST_NAME} letters, digits and {''.join(sorted(_SIGNS))}",
        )


def check_choice(field_name: str, value: str, choices: Tuple[str, ...]) -> None:
    """Raise InvalidInput unless the value is one of the choices."""
    if value not in choices:
        raise InvalidInput(f"{field_name} is {value!r}", f"use one of {', '.join(choices)}")


def role_rank(role: Optional[str]) -> int:
    """Return a number by which roles compare; 0 without a role."""
    return 0 if role is None else ROLES.index(role) + 1


def highest(roles: Any) -> Optional[str]:
    """Return the role that includes all others of the iterable; None for an empty one."""
    return max(roles, key=role_rank, default=None)
