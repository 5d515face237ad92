"""Curated environments: Azure's names and our own tested ones, which every workspace has."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Dict

from footplate.domain.records import CuratedView
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.exceptions import Kinds, UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.workspace import Workspace

VERSION = "1"
_PREFIXES = ("azureml", "microsoft", "footplate-")
_KINDS: Kinds = {"not_found": UserErrorException}
_log = logging.getLogger(__name__)


def is_reserved(name: str) -> bool:
    return name.lower().startswith(_PREFIXES)


def get(workspace: Workspace, name: str, version: object = None) -> Environment:
    """Return the curated environment of this name, ignoring case. Each has one version; Azure's version numbers are
    ignored."""
    if version is not None and str(version) != VERSION:
        _log.warning("the curated environment %r has one version, which is used instead of %s", name, version)
    return _make(workspace.session.api_for(_KINDS).environments.get_curated(name))


def every(workspace: Workspace) -> Dict[str, Environment]:
    made = [_make(view) for view in workspace.session.api_for(_KINDS).environments.list_curated()]
    return {environment.name: environment for environment in made}


def _make(view: CuratedView) -> Environment:
    from footplate.sdk.environments.environment import Environment  # noqa: PLC0415  # a cycle: it imports this module

    made = Environment(view.name)
    made.version, made.asset_id = VERSION, f"azureml:{view.name}:{VERSION}"
    made.environment_variables = dict(view.variables)
    made.curated = view.name
    made.python.conda_dependencies = CondaDependencies.create(
        python_version=view.python, pip_packages=["azureml-defaults", *view.requirements]
    )
    return made
