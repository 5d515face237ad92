"""Secrets of a workspace. The server encrypts them, and never writes them to a list, a log or the record of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence

from footplate.sdk.exceptions import Kinds, UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

_KINDS: Kinds = {"not_found": UserErrorException}


class Keyvault:
    """The secrets of one workspace, as `workspace.get_default_keyvault()` returns them."""

    def __init__(self, workspace: Workspace) -> None:
        self._session = workspace.session
        self._workspace = workspace.id

    def set_secret(self, name: str, value: str, content_type: Optional[str] = None) -> None:
        self.set_secrets({name: value})

    def set_secrets(self, secrets_batch: Mapping[str, str]) -> None:
        for name, value in secrets_batch.items():
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"the value of secret {name!r} is not a string", hint="use str(value)")
        for name, value in secrets_batch.items():
            self._session.api.secrets.put(self._workspace, name, value)

    def get_secret(self, name: str, version: Optional[str] = None) -> str:
        """Return the value. Raise UserErrorException if there is no such secret."""
        return self._session.api_for(_KINDS).secrets.get(self._workspace, name).value

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        return {name: self.get_secret(name) for name in secrets}

    def list_secrets(self) -> List[Dict[str, str]]:
        """Return `{"name": …}` for each secret, without values."""
        return [{"name": secret.name} for secret in self._session.api.secrets.list(self._workspace)]

    def delete_secret(self, name: str) -> None:
        self._session.api_for(_KINDS).secrets.delete(self._workspace, name)

    def delete_secrets(self, secrets: Sequence[str]) -> None:
        for name in secrets:
            self.delete_secret(name)
