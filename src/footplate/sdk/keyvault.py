"""The secrets of a workspace, by name. They are kept encrypted, and never shown in a list, a log or a run's record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence

from footplate.sdk.exceptions import Kinds, UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

_KINDS: Kinds = {"not_found": UserErrorException}


class Keyvault:
    """`workspace.get_default_keyvault()`"""

    def __init__(self, workspace: Workspace) -> None:
        self._session = workspace.session
        self._path = f"/workspaces/{workspace.id}/secrets"

    def set_secret(self, name: str, value: str, content_type: Optional[str] = None) -> None:
        self.set_secrets({name: value})

    def set_secrets(self, secrets_batch: Mapping[str, str]) -> None:
        for name, value in secrets_batch.items():
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"the value of secret {name!r} is no text", hint="use str(value)")
        for name, value in secrets_batch.items():
            self._session.put(f"{self._path}/{name}", {"value": value})

    def get_secret(self, name: str, version: Optional[str] = None) -> str:
        """The value. UserErrorException when there is none of that name."""
        return str(self._session.get(f"{self._path}/{name}", kinds=_KINDS)["value"])

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        return {name: self.get_secret(name) for name in secrets}

    def list_secrets(self) -> List[Dict[str, str]]:
        """`{"name": …}` of each; values are not told."""
        return list(self._session.items(self._path))

    def delete_secret(self, name: str) -> None:
        self._session.delete(f"{self._path}/{name}", _KINDS)

    def delete_secrets(self, secrets: Sequence[str]) -> None:
        for name in secrets:
            self.delete_secret(name)
