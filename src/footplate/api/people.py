"""People, service accounts, their roles and tokens."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.access.people import PERSON, NewToken, PersonView, RoleView, TokenView, WhoAmI


class PeopleApi(ApiNoun):
    def whoami(self) -> WhoAmI:
        return self._get(WhoAmI, "/whoami")

    def list(self) -> Iterator[PersonView]:
        return self._items(PersonView, "/people")

    def add(
        self,
        name: str,
        kind: str = PERSON,
        display_name: Optional[str] = None,
        email: Optional[str] = None,
        groups: Sequence[str] = (),
    ) -> PersonView:
        body = {"name": name, "kind": kind, "display_name": display_name, "email": email, "groups": list(groups)}
        return self._post(PersonView, "/people", body)

    def change(
        self,
        name: str,
        display_name: Optional[str] = None,
        email: Optional[str] = None,
        groups: Optional[Sequence[str]] = None,
        disabled: Optional[bool] = None,
    ) -> PersonView:
        body = {"display_name": display_name, "email": email, "groups": groups, "disabled": disabled}
        return self._patch(PersonView, "/people/{name}", body, name=name)

    def server_roles(self) -> Iterator[RoleView]:
        """Yield the roles that hold in all workspaces."""
        return self._items(RoleView, "/roles")

    def grant_everywhere(self, kind: str, name: str, role: str) -> RoleView:
        return self._put(RoleView, "/roles", {"kind": kind, "name": name, "role": role})

    def withdraw_everywhere(self, kind: str, name: str) -> None:
        self._send("DELETE", "/roles", {"kind": kind, "name": name})

    def roles(self, workspace: str) -> Iterator[RoleView]:
        """Yield the roles that count in a workspace."""
        return self._items(RoleView, "/workspaces/{workspace}/roles", workspace=workspace)

    def grant(self, workspace: str, kind: str, name: str, role: str) -> RoleView:
        body = {"kind": kind, "name": name, "role": role}
        return self._put(RoleView, "/workspaces/{workspace}/roles", body, workspace=workspace)

    def withdraw(self, workspace: str, kind: str, name: str) -> None:
        query = {"kind": kind, "name": name}
        self._send("DELETE", "/workspaces/{workspace}/roles", query, workspace=workspace)

    def tokens(self, person: Optional[str] = None) -> Iterator[TokenView]:
        """Yield one's own tokens; for owners of the server those of a person, or all."""
        return self._items(TokenView, "/tokens", {"person": person})

    def create_token(
        self,
        label: str,
        person: Optional[str] = None,
        expires: Optional[float] = None,
        workspace: Optional[str] = None,
        read_only: bool = False,
    ) -> NewToken:
        """Create a token, for oneself unless an owner of the server names a person."""
        body = {
            "label": label, "person": person, "expires": expires, "workspace": workspace, "read_only": read_only,
        }  # fmt: skip
        return self._post(NewToken, "/tokens", body)

    def revoke_token(self, token: str) -> None:
        """Revoke a token by its id."""
        self._send("DELETE", "/tokens/{token}", token=token)
