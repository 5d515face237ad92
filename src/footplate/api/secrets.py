"""Secrets of a workspace."""

from __future__ import annotations

from typing import Iterator

from footplate.api.base import ApiNoun
from footplate.domain.replies import Secret, SecretName


class SecretsApi(ApiNoun):
    def put(self, workspace: str, name: str, value: str) -> None:
        path = "/workspaces/{workspace}/secrets/{name}"
        self._send("PUT", path, json={"value": value}, workspace=workspace, name=name)

    def list(self, workspace: str) -> Iterator[SecretName]:
        """Yield the names; values are never listed."""
        return self._items(SecretName, "/workspaces/{workspace}/secrets", workspace=workspace)

    def get(self, workspace: str, name: str) -> Secret:
        return self._get(Secret, "/workspaces/{workspace}/secrets/{name}", workspace=workspace, name=name)

    def delete(self, workspace: str, name: str) -> None:
        self._send("DELETE", "/workspaces/{workspace}/secrets/{name}", workspace=workspace, name=name)
