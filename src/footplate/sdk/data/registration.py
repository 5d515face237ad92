"""Registration of datastores, whatever their kind: the request, and the objects made of its answer."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NoReturn, Optional, Type, TypeVar, cast

from footplate.domain.data import DIALECTS
from footplate.domain.datasets import DatastoreView
from footplate.domain.requests import NewDatastore
from footplate.sdk.data import worker_client
from footplate.sdk.data.datastore_kinds import CLASSES, AbstractDatastore, SqlDatastore
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.warn import warn_without_effect, without_effect

KINDS: Kinds = {"not_found": UserErrorException, "conflict": UserErrorException}
D = TypeVar("D", bound=AbstractDatastore)


def list_datastores(workspace: Workspace) -> List[AbstractDatastore]:
    return [datastore_from_view(workspace, view) for view in workspace.session.api.datastores.list(workspace.id)]


def datastore_from_view(workspace: Workspace, view: DatastoreView) -> AbstractDatastore:
    return CLASSES[view.kind](workspace, view)


def register(
    kind: Type[D],
    workspace: Workspace,
    name: str,
    location: Mapping[str, Optional[str]],
    credentials: Mapping[str, Optional[str]],
    overwrite: bool,
    unseen: bool,
) -> D:
    """Register after a check of access, unless `unseen`: wrong credentials are an error now, not during a run."""
    place = {key: value for key, value in location.items() if value}
    secrets = {key: value for key, value in credentials.items() if value}
    if not unseen:
        worker_client.call("check", {"store": {"kind": kind.kind, "location": place, "credentials": secrets}})
    new = NewDatastore(kind.kind, place, secrets, if_exists="replace" if overwrite else "refuse")
    view = workspace.session.api_for(KINDS).datastores.put(workspace.id, check_name(name), new)
    return cast(D, datastore_from_view(workspace, view))


def register_sql(
    workspace: Workspace,
    name: str,
    dialect: str,
    database: str,
    host: Optional[str],
    port: Optional[int],
    username: Optional[str],
    password: Optional[str],
    overwrite: bool,
) -> SqlDatastore:
    if dialect not in DIALECTS:
        raise UserErrorException(f"dialect is {dialect!r}", hint=f"use {', '.join(DIALECTS)}")
    number = None if port is None else str(port)
    location = {"dialect": dialect, "database": database, "host": host, "port": number}
    credentials = {"username": username, "password": password}
    return register(SqlDatastore, workspace, name, location, credentials, overwrite, True)


def complete_host(server: str, domain: str) -> str:
    """Complete a bare server name with Azure's domain; leave anything else unchanged."""
    return server if "." in server or ":" in server or server == "localhost" else f"{server}.{domain}"


def check_name(name: str) -> str:
    """Return the name in lower case, as Azure does."""
    if not isinstance(name, str) or not name or "/" in name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"{name!r} is not a datastore name", hint="use lower-case letters, digits and '_'")
    return name.lower()


def endpoint_location(endpoint: Optional[str], protocol: Optional[str], account: str) -> Dict[str, str]:
    """Return the endpoint: Azure's API takes a host suffix (`core.windows.net`); a whole URL is left unchanged."""
    suffix = endpoint or "core.windows.net"
    if "://" in suffix:
        if protocol not in (None, suffix.partition("://")[0]):
            raise UserErrorException(f"protocol is {protocol!r}, but endpoint is {endpoint!r}", hint="leave one out")
        return {"endpoint": suffix}
    if suffix == "core.windows.net" and protocol in (None, "https"):
        return {}
    return {"endpoint": f"{protocol or 'https'}://{account}.blob.{suffix}"}


def warn_unused(**given: Any) -> None:
    warn_without_effect(without_effect("a datastore is read with its own address and credentials", **given))


def raise_unsupported(service: str, hint: str) -> NoReturn:
    raise UserErrorException(f"Footplate has no datastores on {service}", hint=hint)
