"""Curated environments: Azure's names and our own tested ones, which every workspace has."""

from __future__ import annotations

import logging
from typing import List

from footplate.domain.records import CuratedView
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.definition import EnvironmentFields
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace

VERSION = "1"
_PREFIXES = ("azureml", "microsoft", "footplate-")
_KINDS: Kinds = {"not_found": UserErrorException}
_log = logging.getLogger(__name__)


def is_reserved(name: str) -> bool:
    return name.lower().startswith(_PREFIXES)


def get(workspace: Workspace, name: str, version: object = None) -> CuratedView:
    """Return the curated environment of this name, ignoring case. Each has one version; Azure's version numbers are
    ignored."""
    if version is not None and str(version) != VERSION:
        _log.warning("the curated environment %r has one version, which is used instead of %s", name, version)
    return workspace.session.api_for(_KINDS).environments.get_curated(name)


def every(workspace: Workspace) -> List[CuratedView]:
    return list(workspace.session.api_for(_KINDS).environments.list_curated())


def fill(environment: EnvironmentFields, view: CuratedView) -> None:
    """Give a new environment the content of a curated one."""
    environment.version = VERSION
    environment.asset_id = f"azureml:{view.name}:{VERSION}"
    environment.environment_variables = dict(view.variables)
    environment.curated = view.name
    environment.python.conda_dependencies = CondaDependencies.create(
        python_version=view.python, pip_packages=["azureml-defaults", *view.requirements]
    )
