"""Secrets of a workspace. The server encrypts them, and never writes them to a list, a log or the record of a run."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.wrong_types import explained

_KINDS: Kinds = {"not_found": UserErrorException}


@explained
class Keyvault:
    """The secrets of one workspace, as `workspace.get_default_keyvault()` returns them.

    The server encrypts them. Values never appear in a list, a log or the record of a run.

    Args:
        workspace: The workspace.

    Example:
        keyvault = ws.get_default_keyvault()
        keyvault.set_secret("api-key", "s3cr3t")
        keyvault.set_secrets({"user": "ada", "password": "correct horse"})
        print(keyvault.list_secrets())
        print(keyvault.get_secret("user"), keyvault.get_secrets(["user", "password"]))
        keyvault.delete_secret("api-key")
        keyvault.delete_secrets(["user", "password"])
    """

    def __init__(self, workspace: Workspace) -> None:
        self._session = workspace.session
        self._workspace = workspace.id

    def set_secret(self, name: str, value: str, content_type: Optional[str] = None) -> None:
        """Store a secret, or replace its value.

        Args:
            name: The name of the secret.
            value: The value.
            content_type: Accepted and ignored.

        Raises:
            UserErrorException: The value is not a string, or the name is refused.
        """
        self.set_secrets({name: value})

    def set_secrets(self, secrets_batch: Mapping[str, str]) -> None:
        """Store several secrets. Nothing is stored if one of the values is not a string.

        Args:
            secrets_batch: Values by name.

        Raises:
            UserErrorException: A value is not a string, or a name is refused.
        """
        for name, value in secrets_batch.items():
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"the value of secret {name!r} is not a string", hint="use str(value)")
        for name, value in secrets_batch.items():
            self._session.api.secrets.put(self._workspace, name, value)

    def get_secret(self, name: str, version: Optional[str] = None) -> str:
        """Return the value of a secret.

        Args:
            name: The name of the secret.
            version: Accepted and ignored: a secret has one version.

        Returns:
            The value.

        Raises:
            UserErrorException: There is no such secret.
        """
        return self._session.api_for(_KINDS).secrets.get(self._workspace, name).value

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        """Return the values of several secrets.

        Args:
            secrets: The names.

        Returns:
            Values by name.

        Raises:
            UserErrorException: One of the secrets does not exist.
        """
        return {name: self.get_secret(name) for name in secrets}

    def list_secrets(self) -> List[Dict[str, str]]:
        """Return the names of all secrets, without values.

        Returns:
            A list of `{"name": …}`.
        """
        return [{"name": secret.name} for secret in self._session.api.secrets.list(self._workspace)]

    def delete_secret(self, name: str) -> None:
        """Delete a secret.

        Args:
            name: The name of the secret.

        Raises:
            UserErrorException: There is no such secret.
        """
        self._session.api_for(_KINDS).secrets.delete(self._workspace, name)

    def delete_secrets(self, secrets: Sequence[str]) -> None:
        """Delete several secrets.

        Args:
            secrets: The names.

        Raises:
            UserErrorException: One of the secrets does not exist; those before it are deleted.
        """
        for name in secrets:
            self.delete_secret(name)
