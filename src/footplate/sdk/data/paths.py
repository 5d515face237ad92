"""Paths of data as users write them: web addresses, (datastore, path), references, and lists of those."""

from __future__ import annotations

import urllib.parse
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataPath, DataReference
from footplate.sdk.exceptions import UserErrorException

Source = Tuple[Dict[str, str], Optional[Any]]
"""A source of a definition, and the datastore object that it names."""


def definition_of(path: Any) -> Tuple[Dict[str, Any], Optional[Any]]:
    """The definition that reads these paths, and the workspace of its datastores, None for web addresses alone."""
    found = list(sources(path))
    if not found:
        raise UserErrorException("no path was given", hint="give a web address, or (datastore, 'path/on/datastore')")
    stores = [datastore for _, datastore in found if datastore is not None]
    if stores and len(stores) != len(found):
        raise UserErrorException(
            "web addresses and datastore paths cannot be mixed in one dataset", hint="make two datasets of them"
        )
    return {"sources": [source for source, _ in found]}, stores[0].workspace if stores else None


def sources(path: Any) -> Iterator[Source]:
    if isinstance(path, str):
        yield {"url": _checked_url(path)}, None
    elif isinstance(path, (DataReference, DataPath)):
        yield _of_datastore(path.datastore, path.path_on_datastore), path.datastore
    elif isinstance(path, AbstractDatastore):
        yield _of_datastore(path, ""), path
    elif isinstance(path, tuple) and len(cast("Tuple[Any, ...]", path)) == 2 and not isinstance(path[0], str):
        datastore, below = cast("Tuple[Any, Any]", path)
        for each in cast("List[Any]", below) if isinstance(below, (list, tuple)) else [below]:
            yield _of_datastore(datastore, each), datastore
    elif isinstance(path, (list, tuple)):
        for each in cast("List[Any]", path):
            yield from sources(each)
    else:
        raise _not_a_path(path)


def _of_datastore(datastore: Any, path: Any) -> Dict[str, str]:
    if not isinstance(datastore, AbstractDatastore) or not isinstance(path, (str, type(None))):
        raise _not_a_path((datastore, path))
    return {"datastore": datastore.name, "path": (path or "").strip("/")}


def _checked_url(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise _not_a_path(url)
    if "@" in parts.netloc:
        raise UserErrorException(
            f"the address of {parts.hostname} holds a user name or password, which a dataset would show to everybody",
            hint="use Datastore.register_web(workspace, name, url, username=…, password=…)",
        )
    return url


def _not_a_path(path: Any) -> UserErrorException:
    return UserErrorException(
        f"{path!r} is no path that a dataset can be made of",
        hint="give a web address, or (datastore, 'path/on/datastore'); a folder of this machine comes into a datastore "
        "with Dataset.File.upload_directory, or becomes one with Datastore.register_folder",
    )
