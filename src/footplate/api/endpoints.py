"""Web services of a workspace."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.serving.endpoints import (
    CertificateFiles,
    EndpointView,
    ServiceKeys,
    ServiceLog,
    ServiceSettings,
    ServiceToken,
    VersionSpec,
)


class EndpointsApi(ApiNoun):
    def deploy(
        self,
        workspace: str,
        name: str,
        key: str,
        settings: ServiceSettings,
        version: VersionSpec,
        *,
        goal: float = 100.0,
        overwrite: bool = False,
        created_by: str = "",
        certificate: Optional[CertificateFiles] = None,
    ) -> EndpointView:
        """Create a service with its first version. The same key again returns the same service."""
        body = {
            "name": name, "key": key, "settings": to_json(settings), "version": to_json(version),
            "goal": goal, "overwrite": overwrite, "created_by": created_by, "certificate": to_json(certificate),
        }  # fmt: skip
        return self._post(EndpointView, "/workspaces/{workspace}/endpoints", body, workspace=workspace)

    def list(self, workspace: str) -> Iterator[EndpointView]:
        return self._items(EndpointView, "/workspaces/{workspace}/endpoints", workspace=workspace)

    def get(
        self, workspace: str, name: str, *, revision: Optional[int] = None, wait: Optional[float] = None
    ) -> EndpointView:
        """Return a service. With `wait`, wait for a newer `revision`."""
        path = "/workspaces/{workspace}/endpoints/{name}"
        query = {"revision": revision, "wait": wait}
        return self._get(EndpointView, path, query, workspace=workspace, name=name)

    def change(
        self,
        workspace: str,
        name: str,
        key: str,
        *,
        settings: Optional[ServiceSettings] = None,
        version: Optional[VersionSpec] = None,
        goal: float = 100.0,
        shadow: bool = False,
        certificate: Optional[CertificateFiles] = None,
    ) -> EndpointView:
        """Change the settings, or begin a new version, which takes `goal` percent of the requests when it is ready."""
        body = {
            "key": key, "settings": to_json(settings), "version": to_json(version), "goal": goal, "shadow": shadow,
            "certificate": to_json(certificate),
        }  # fmt: skip
        path = "/workspaces/{workspace}/endpoints/{name}"
        return self._patch(EndpointView, path, body, workspace=workspace, name=name)

    def split(self, workspace: str, name: str, weights: Dict[int, float]) -> EndpointView:
        """Set the percentages of versions; those that are not named keep the rest in proportion."""
        body = {"weights": {str(number): weight for number, weight in weights.items()}}
        path = "/workspaces/{workspace}/endpoints/{name}/traffic"
        return self._post(EndpointView, path, body, workspace=workspace, name=name)

    def change_version(
        self,
        workspace: str,
        name: str,
        number: int,
        *,
        goal: Optional[float] = None,
        description: Optional[str] = None,
        definition: Optional[Dict[str, Any]] = None,
    ) -> EndpointView:
        """Change the share or the labels of one version; its workers stay."""
        path = "/workspaces/{workspace}/endpoints/{name}/versions/{number}"
        body = {"goal": goal, "description": description, "definition": definition}
        return self._patch(EndpointView, path, body, workspace=workspace, name=name, number=number)

    def delete_version(self, workspace: str, name: str, number: int) -> EndpointView:
        """Stop one version; the others get its requests."""
        path = "/workspaces/{workspace}/endpoints/{name}/versions/{number}"
        return self._delete(EndpointView, path, workspace=workspace, name=name, number=number)

    def delete(self, workspace: str, name: str) -> EndpointView:
        """Begin to delete a service; it is gone when `get` raises NotFound."""
        path = "/workspaces/{workspace}/endpoints/{name}"
        return self._delete(EndpointView, path, workspace=workspace, name=name)

    def logs(
        self, workspace: str, name: str, *, lines: Optional[int] = None, version: Optional[int] = None
    ) -> ServiceLog:
        path = "/workspaces/{workspace}/endpoints/{name}/logs"
        query = {"lines": lines, "version": version}
        return self._get(ServiceLog, path, query, workspace=workspace, name=name)

    def keys(
        self, workspace: str, name: str, *, renew: Optional[str] = None, value: Optional[str] = None
    ) -> ServiceKeys:
        """Return the keys; `renew`: primary or secondary, to replace one of them before."""
        path = "/workspaces/{workspace}/endpoints/{name}/keys"
        body = {"renew": renew, "value": value}
        return self._post(ServiceKeys, path, body, workspace=workspace, name=name)

    def token(self, workspace: str, name: str) -> ServiceToken:
        path = "/workspaces/{workspace}/endpoints/{name}/token"
        return self._post(ServiceToken, path, workspace=workspace, name=name)
