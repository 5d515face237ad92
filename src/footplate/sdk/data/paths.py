"""Data paths as users write them: URLs, (datastore, path), references, and lists of those."""

from __future__ import annotations

import urllib.parse
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataPath, DataReference
from footplate.sdk.exceptions import UserErrorException

Source = Tuple[Dict[str, str], Optional[Any]]
"""A source of a definition, and the datastore object that it refers to."""


def definition_of(path: Any) -> Tuple[Dict[str, Any], Optional[Any]]:
    """Return the definition that reads these paths, and the workspace of its datastores (None if all are URLs)."""
    pairs = list(sources(path))
    if not pairs:
        raise UserErrorException("no path was given", hint="give a URL, or (datastore, 'path/on/datastore')")
    stores = [datastore for _, datastore in pairs if datastore is not None]
    if stores and len(stores) != len(pairs):
        raise UserErrorException("one dataset cannot mix URLs and datastore paths", hint="create two datasets")
    return {"sources": [source for source, _ in pairs]}, stores[0].workspace if stores else None


def sources(path: Any) -> Iterator[Source]:
    if isinstance(path, str):
        yield {"url": _check_url(path)}, None
    elif isinstance(path, (DataReference, DataPath)):
        yield _datastore_source(path.datastore, path.path_on_datastore), path.datastore
    elif isinstance(path, AbstractDatastore):
        yield _datastore_source(path, ""), path
    elif isinstance(path, tuple) and len(cast("Tuple[Any, ...]", path)) == 2 and not isinstance(path[0], str):
        datastore, below = cast("Tuple[Any, Any]", path)
        for each in cast("List[Any]", below) if isinstance(below, (list, tuple)) else [below]:
            yield _datastore_source(datastore, each), datastore
    elif isinstance(path, (list, tuple)):
        for each in cast("List[Any]", path):
            yield from sources(each)
    else:
        raise _not_a_path(path)


def _datastore_source(datastore: Any, path: Any) -> Dict[str, str]:
    if not isinstance(datastore, AbstractDatastore) or not isinstance(path, (str, type(None))):
        raise _not_a_path((datastore, path))
    return {"datastore": datastore.name, "path": (path or "").strip("/")}


def _check_url(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise _not_a_path(url)
    if "@" in parts.netloc:
        raise UserErrorException(
            f"the URL of {parts.hostname} contains a user name or password, which the dataset would reveal",
            hint="use Datastore.register_web(workspace, name, url, username=…, password=…)",
        )
    return url


def _not_a_path(path: Any) -> UserErrorException:
    return UserErrorException(
        f"{path!r} is not a data path",
        hint="give a URL, or (datastore, 'path/on/datastore'); upload a local folder to a datastore "
        "with Dataset.File.upload_directory, or register it with Datastore.register_folder",
    )
