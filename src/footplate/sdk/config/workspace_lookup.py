"""Finding and creating workspaces on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Mapping, Optional, Set

from footplate.domain.targets import LOCAL
from footplate.lazy import Deferred
from footplate.sdk.exceptions import AuthenticationException, Kinds, UserErrorException, WorkspaceException
from footplate.sdk.session import Session, is_in_job, open_session

if TYPE_CHECKING:
    from footplate.domain.records import WorkspaceView
    from footplate.sdk.config.workspace_file import WorkspaceConfig
    from footplate.sdk.runs import shipping
else:
    shipping = Deferred("footplate.sdk.runs.shipping")

DEFAULT_LABEL = LOCAL
"""The subscription and the resource group of workspaces that did not come from Azure."""

KINDS: Kinds = {"not_found": WorkspaceException, "conflict": WorkspaceException}
_recovered: Set[Session] = set()


def connect(server: Optional[str] = None) -> Session:
    """Return the session; on its first use, ship the metrics that killed processes left behind."""
    session = open_session(server)
    if session not in _recovered and not is_in_job():
        _recovered.add(session)
        shipping.recover(session)
    return session


def search(
    session: Session, name: Optional[str], subscription_id: Optional[str], resource_group: Optional[str]
) -> List[WorkspaceView]:
    workspaces = session.api_for(KINDS).workspaces
    return list(workspaces.list(name=name, subscription_id=subscription_id, resource_group=resource_group))


def find(session: Session, name: str, subscription_id: Optional[str], resource_group: Optional[str]) -> WorkspaceView:
    workspaces = search(session, name, subscription_id, resource_group)
    if not workspaces:
        raise WorkspaceException(f"there is no workspace {name!r}", hint=f"create it with: footplate init {name}")
    if len(workspaces) > 1:
        groups = ", ".join(sorted(view.resource_group for view in workspaces))
        raise UserErrorException(
            f"there are {len(workspaces)} workspaces {name!r}, in the resource groups {groups}",
            hint="pass resource_group",
        )
    return workspaces[0]


def create(
    session: Session,
    config: WorkspaceConfig,
    if_exists: str,
    tags: Optional[Mapping[str, Optional[str]]] = None,
    location: Optional[str] = None,
    friendly_name: Optional[str] = None,
) -> WorkspaceView:
    """Create a workspace. Who may not, but may read one with these names, gets that one for `if_exists="return"`."""
    try:
        return _create(session, config, if_exists, tags, location, friendly_name)
    except AuthenticationException:
        views = search(session, config.workspace_name, config.subscription_id, config.resource_group)
        if if_exists != "return" or not views:
            raise
        return views[0]


def _create(
    session: Session,
    config: WorkspaceConfig,
    if_exists: str,
    tags: Optional[Mapping[str, Optional[str]]],
    location: Optional[str],
    friendly_name: Optional[str],
) -> WorkspaceView:
    return session.api_for(KINDS).workspaces.create(
        config.workspace_name, config.subscription_id, config.resource_group, if_exists=if_exists, tags=tags,
        location=location or LOCAL, friendly_name=friendly_name or None,
    )  # fmt: skip
