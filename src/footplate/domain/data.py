"""Data in stores: the stores, the entries that they list, and the items of a folder that is composed of entries.

A store is a folder, a bucket, a container or a web site. Its `location` may be printed, hashed and compared; its
`credentials` never are.
"""

from __future__ import annotations

import hashlib
import json
import urllib.parse
from dataclasses import dataclass, field
from typing import Dict, NamedTuple, Optional, Tuple

from footplate.errors import InvalidInput

FOLDER, AZURE_BLOB, AZURE_FILE, ADLS_GEN2 = "folder", "azure_blob", "azure_file", "adls_gen2"
S3, GCS, HTTP, SQL, SERVER = "s3", "gcs", "http", "sql", "server"

OBJECT_STORES = (AZURE_BLOB, ADLS_GEN2, S3, GCS)
"""Kinds that need the library obstore."""

DIALECTS = ("sqlite", "postgresql", "mysql", "mssql")
"""Databases that accept queries."""

UNKNOWN_SIZE = -1
"""The size of an entry whose server does not report a size."""


class _Kind(NamedTuple):
    needs: Tuple[str, ...]
    may_have: Tuple[str, ...]
    credentials: Tuple[str, ...]


_AZURE_CREDENTIALS = ("key", "sas", "client_id", "client_secret", "tenant_id", "token", "source")
_KINDS = {
    FOLDER: _Kind(("path",), (), ()),
    AZURE_BLOB: _Kind(("account", "container"), ("endpoint", "prefix"), _AZURE_CREDENTIALS),
    ADLS_GEN2: _Kind(("account", "container"), ("endpoint", "prefix"), _AZURE_CREDENTIALS),
    AZURE_FILE: _Kind(("account", "share"), ("endpoint", "path"), _AZURE_CREDENTIALS),
    S3: _Kind(
        ("bucket",),
        ("endpoint", "region", "prefix"),
        ("access_key_id", "secret_access_key", "session_token", "source"),
    ),
    GCS: _Kind(("bucket",), ("endpoint", "prefix"), ("service_account_key", "token", "source")),
    HTTP: _Kind((), ("url",), ("token", "username", "password")),
    SERVER: _Kind(("url", "workspace", "datastore"), (), ("token",)),
    SQL: _Kind(("dialect", "database"), ("host", "port"), ("username", "password")),
}
STORE_KINDS = tuple(_KINDS)
_ADDRESSES = ("url", "endpoint", "host")


@dataclass(frozen=True)
class StoreSpec:
    """A store: one place that holds data.

    kind                      location, [optional]                      credentials, one of
    folder                    path (absolute)                           –
    azure_blob, adls_gen2     account, container, [endpoint, prefix]    key · sas · token ·
                                                                        client_id + client_secret + tenant_id
    azure_file                account, share, [path: its mount here]    –
    s3                        bucket, [endpoint, region, prefix]        access_key_id + secret_access_key,
                                                                        [session_token]
    gcs                       bucket, [endpoint, prefix]                service_account_key (its JSON) · token
    http                      [url: base of the paths; without it       token · username + password
                              a path is a whole URL]
    server                    url, workspace, datastore: a built-in     token
                              datastore, through the server's API
    sql                       dialect (sqlite, postgresql, mysql,       username + password
                              mssql), database, [host, port]

    A database holds rows and no files: only tables can be read from it. Without credentials, requests are anonymous.
    `{"source": "environment"}` uses the credentials of the machine: variables, the role of a virtual machine, or a
    logged-in command line.
    """

    kind: str
    location: Dict[str, str] = field(default_factory=lambda: {})
    credentials: Dict[str, str] = field(default_factory=lambda: {}, repr=False, compare=False)

    def identity(self) -> str:
        """Return a key for caches: the same for the same place, whatever the credentials."""
        place = json.dumps([self.kind, self.location], sort_keys=True)
        return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()

    def check(self) -> StoreSpec:
        """Return the spec itself, or raise InvalidInput when its fields do not fit its kind."""
        if self.kind not in _KINDS:
            raise InvalidInput(f"there is no store of kind {self.kind!r}", f"the kinds are {', '.join(STORE_KINDS)}")
        kind = _KINDS[self.kind]
        missing = [name for name in kind.needs if not self.location.get(name)]
        if missing:
            raise InvalidInput(
                f"a store of kind {self.kind!r} needs {' and '.join(missing)}", f"give {', '.join(kind.needs)}"
            )
        _check_fields(self.kind, "location", self.location, kind.needs + kind.may_have)
        _check_fields(self.kind, "credentials", self.credentials, kind.credentials)
        for name in _ADDRESSES:
            if self.location.get(name):
                _check_address(self.kind, name, self.location[name])
        return self


def credential_fields(kind: str) -> Tuple[str, ...]:
    """Return the fields that are secret in a store of this kind."""
    return _KINDS[kind].credentials


def _check_fields(kind: str, what: str, values: Dict[str, str], fields: Tuple[str, ...]) -> None:
    strange = sorted(set(values) - set(fields))  # names only: a value may be a secret in the wrong place
    if strange:
        names = ", ".join(fields) or "none"
        raise InvalidInput(f"a store of kind {kind!r} has no {strange[0]!r} in its {what}", f"the fields are: {names}")


def _check_address(kind: str, field: str, text: str) -> None:
    """Raise InvalidInput for a secret in a location, which is printed and stored in the clear.

    The error does not repeat it.
    """
    if any(mark in text for mark in "@?#"):
        raise InvalidInput(
            f"the {field} of a store of kind {kind!r} was given with a user, a password or a query in it",
            f"give secrets as credentials, which are kept encrypted: {', '.join(_KINDS[kind].credentials)}",
        )
    if field == "host":
        return
    try:
        parts = urllib.parse.urlsplit(text)
        is_web_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is not a number
        is_web_address = False
    if not is_web_address or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise InvalidInput(
            f"the {field} {text!r:.300} is not a web address", "give one that begins with http:// or https://"
        )


class StoreEntry(NamedTuple):
    """A file as its store lists it.

    `etag` changes with the file; `digest` (`sha256:…`, `md5:…`) is that of its content.
    """

    path: str
    size: int
    etag: str = ""
    modified: float = 0.0
    digest: str = ""


class StoredPart(NamedTuple):
    """How many bytes of a file the server has; `entry` is set when it has all of them."""

    size: int
    entry: Optional[StoreEntry] = None


class Item(NamedTuple):
    """A file of a folder that is composed of files in stores: its name in the folder, and the place of its bytes.

    `store` is the label of its store in the mapping that goes with the listing, "" if there is only one. `path` is its
    path in the store, "" if that equals its name.
    """

    name: str
    size: int
    etag: str = ""
    modified: float = 0.0
    digest: str = ""
    store: str = ""
    path: str = ""

    @property
    def source(self) -> str:
        return self.path or self.name

    def entry(self) -> StoreEntry:
        return StoreEntry(self.source, self.size, self.etag, self.modified, self.digest)


def place(entry: StoreEntry, name: str, store: str = "") -> Item:
    """Return the item that shows `entry` of `store` under `name`."""
    path = "" if entry.path == name else entry.path
    return Item(name, entry.size, entry.etag, entry.modified, entry.digest, store, path)
