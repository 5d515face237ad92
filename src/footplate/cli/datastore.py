"""`footplate datastore`."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import urlsplit

import click

from footplate import environ
from footplate.cli.console import ago, emit, emit_or_say, say, size
from footplate.cli.context import (
    confirm,
    in_workspace,
    in_workspace_with_json,
    json_option,
    names_of,
    open_workspace,
    workspace_option,
    yes_option,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_table
from footplate.domain.data import StoreEntry, StoreSpec, credential_fields
from footplate.domain.datasets import DatastoreView
from footplate.errors import InvalidInput
from footplate.sdk.data import registration, worker_client
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.store_access import store_spec
from footplate.sdk.workspace import Workspace

store_argument = click.argument("name", shell_complete=names_of("datastores"))


@click.group(cls=Noun)
def datastore() -> None:
    """Datastores: list, add, upload and browse them.

    Every workspace has `workspaceblobstore`, a folder of its home.
    """


@datastore.command("list")
@in_workspace_with_json
def list_stores(workspace: Workspace, as_json: bool) -> None:
    """List datastores; `*` marks the default."""
    stores = list(workspace.session.api.datastores.list(workspace.id))
    if as_json:
        emit(stores)
        return
    rows = [
        ["*" if s.is_default else "", s.name, s.kind, place(s), "kept, encrypted" if s.has_credentials else "none"]
        for s in stores
    ]
    print_table(["", "name", "kind", "place", "credentials"], rows, shrink=["place"], drop=["credentials"])


def place(store: DatastoreView) -> str:
    """Return its location in one line."""
    location: dict[str, str] = store.location
    parts = ("account", "container", "share", "bucket", "prefix", "database")
    where = "/".join(location[key].strip("/") if key == "prefix" else location[key] for key in parts if key in location)
    return "  ".join(filter(None, [where, *(location.get(key) for key in ("path", "url", "endpoint", "host"))]))


@datastore.command()
@click.argument("name")
@click.argument("place", metavar="PLACE")
@click.option("--endpoint", metavar="URL", help="The address of an S3- or Azure-compatible server.")
@click.option("--region", metavar="NAME", help="The region of an S3 bucket.")
@click.option(
    "--credential",
    "fields",
    multiple=True,
    metavar="FIELD",
    help="A credential to read from FOOTPLATE_STORE_<FIELD> or the terminal; repeatable.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing datastore.")
@click.option("--default", "as_default", is_flag=True, help="Make it the workspace's default.")
@click.option("--no-check", is_flag=True, help="Do not test the connection.")
@workspace_option
@json_option
def add(
    name: str, place: str, fields: tuple[str, ...], as_default: bool, workspace_name: str | None, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Add a datastore.


    PLACE is one of
      /a/folder                        read in place, never copied
      s3://bucket/prefix               access_key_id, secret_access_key
      gs://bucket/prefix               service_account_key
      azure://account/container        key, or sas
      https://host/path                token, or username and password
    """
    kind, location = parse_place(place, options["endpoint"], options["region"])
    spec = StoreSpec(kind, location, _ask_for(kind, fields)).check()
    workspace = open_workspace(workspace_name)
    unseen = options["no_check"] or spec.kind == "http"
    store = registration.register(
        registration.CLASSES[spec.kind], workspace, name, spec.location, spec.credentials, options["overwrite"], unseen
    )
    if as_default:
        store.set_as_default()
    if as_json:
        emit(workspace.session.api.datastores.get(workspace.id, store.name))
    else:
        say(f"datastore {store.name} is ready{' and the default' if as_default else ''}")


def parse_place(place: str, endpoint: str | None = None, region: str | None = None) -> tuple[str, dict[str, str]]:
    """Return the kind and the location of a store from the place that a user typed."""
    parts = urlsplit(place)
    path = parts.path.strip("/")
    if parts.scheme and ("@" in parts.netloc or parts.query or parts.fragment):
        raise InvalidInput(
            "PLACE contains a user, a password or a query",
            "leave them out, and pass secrets with --credential FIELD, which are stored encrypted",
        )
    if parts.scheme in ("s3", "gs"):
        kind = "s3" if parts.scheme == "s3" else "gcs"
        location = {"bucket": parts.netloc, "prefix": path, "endpoint": endpoint, "region": region}
    elif parts.scheme == "azure":
        container, _, prefix = path.partition("/")
        kind = "azure_blob"
        location = {"account": parts.netloc, "container": container, "prefix": prefix, "endpoint": endpoint}
    elif parts.scheme in ("http", "https"):
        kind = "http"
        location = {"url": place}
    elif parts.scheme:
        raise click.BadParameter(f"{place!r} is not a place for a datastore", param_hint="PLACE")
    else:
        folder = os.path.abspath(os.path.expanduser(place))
        if not os.path.isdir(folder):
            raise click.BadParameter(f"there is no folder {folder}", param_hint="PLACE")
        kind = "folder"
        location = {"path": folder}
    return kind, {key: value for key, value in location.items() if value}


def _ask_for(kind: str, fields: tuple[str, ...]) -> dict[str, str]:
    """Read credentials from variables or the terminal, never from the command line, which other users can see."""
    credentials: dict[str, str] = {}
    names = credential_fields(kind)
    for field in fields:
        if field not in names:  # a value that was given anyway is not repeated
            name = field.partition("=")[0]
            raise InvalidInput(
                f"{name!r} was given with a value" if name in names else f"a {kind} store has no credential {name!r}",
                f"name fields alone, of {', '.join(names) or 'which there are none'}; they are asked for",
            )
        variable = f"{environ.STORE_FIELD}{field.upper()}"  # FOOTPLATE_TOKEN is the server's
        value = os.environ.get(variable)
        if value is None and not sys.stdin.isatty():
            raise InvalidInput(
                f"the credential {field!r} is missing, and there is no terminal to ask for it", f"set {variable}"
            )
        credentials[field] = value if value is not None else click.prompt(field, hide_input=True, err=True)
    return credentials


@datastore.command()
@store_argument
@click.argument("source", type=click.Path(exists=True))
@click.option("--to", "target", default="", metavar="PATH", help="The folder of the datastore.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.  [default: keep them]")
@in_workspace_with_json
def upload(name: str, source: str, target: str, overwrite: bool, workspace: Workspace, as_json: bool) -> None:
    """Upload a file or folder. Files that are already there are skipped."""
    store = Datastore.get(workspace, name)
    if os.path.isdir(source):
        store.upload(source, target, overwrite=overwrite)
    else:
        store.upload_files([source], target_path=target, overwrite=overwrite)
    where = f"in datastore {name}" + (f", in {target}" if target else "")
    emit_or_say(as_json, {"datastore": store.name, "path": target}, f"{source} is {where}")


@datastore.command("ls")
@store_argument
@click.argument("folder", default="")
@in_workspace_with_json
def list_folder(name: str, folder: str, workspace: Workspace, as_json: bool) -> None:
    """List a folder of a datastore."""
    spec = store_spec(workspace, name.lower())
    listing = worker_client.call("children", {"store": spec, "folder": folder})
    files = [StoreEntry(*entry) for entry in listing["files"]]
    if as_json:
        emit({"folders": listing["folders"], "files": [entry._asdict() for entry in files]})
        return
    rows = [[f"{name}/", "", ""] for name in listing["folders"]]
    rows += [[entry.path.rpartition("/")[2], size(max(0, entry.size)), ago(entry.modified)] for entry in files]
    print_table(["name", "size", "changed"], rows, right=["size"])


@datastore.command("default")
@store_argument
@in_workspace
def set_default(name: str, workspace: Workspace) -> None:
    """Make a datastore the workspace's default."""
    Datastore.get(workspace, name).set_as_default()
    say(f"{name} is the default datastore")


@datastore.command()
@store_argument
@yes_option
@in_workspace
def remove(name: str, yes: bool, workspace: Workspace) -> None:
    """Remove a datastore from the workspace. Its data stays."""
    store = Datastore.get(workspace, name)
    confirm(f"remove datastore {name} and its credentials? Its data stays.", yes)
    store.unregister()
    say(f"datastore {name} is removed; its data stays")
