"""Files of built-in datastores, for clients and nodes that do not see the server's directories."""

from __future__ import annotations

import json
from typing import Any, Iterator, List, NamedTuple, cast
from urllib.parse import quote

from footplate.api import PREFIX
from footplate.api.base import ApiNoun
from footplate.domain.data import StoredPart, StoreEntry
from footplate.domain.store_names import check_name
from footplate.errors import Unavailable

_FILES = "/workspaces/{workspace}/datastores/{name}/files"
_FILE = _FILES + "/{path}"


class StoreFolder(NamedTuple):
    """The direct children of a folder of a datastore."""

    folders: List[str]
    files: List[StoreEntry]


class StoreFilesApi(ApiNoun):
    @staticmethod
    def url(workspace: str, name: str) -> str:
        """Return the quoted path of the datastore's files, for clients that read ranges of them by HTTP."""
        return PREFIX + _FILES.format(workspace=quote(workspace, safe=""), name=quote(name, safe=""))

    def list(self, workspace: str, name: str, prefix: str = "") -> Iterator[List[StoreEntry]]:
        """Yield all files below the folder `prefix`, page by page."""
        pieces = self._download(_FILES, {"prefix": prefix}, workspace=workspace, name=name)
        for line in _lines(pieces):
            page = json.loads(line)
            if not isinstance(page, list):  # the number of files: the list is complete
                return
            yield [_entry(fields) for fields in cast("List[Any]", page)]
        raise Unavailable("the list of files was cut off", "look at the network; try again")

    def children(self, workspace: str, name: str, folder: str = "") -> StoreFolder:
        query = {"prefix": folder, "children": True}
        listing = self._send("GET", _FILES, query, workspace=workspace, name=name)
        return StoreFolder([str(each) for each in listing["folders"]], [_entry(fields) for fields in listing["files"]])

    def read(self, workspace: str, name: str, path: str) -> Iterator[bytes]:
        return self._download(_FILE, workspace=workspace, name=name, path=path)

    def stat(self, workspace: str, name: str, path: str) -> StoreEntry:
        return _entry(self._send("GET", _FILE, {"stat": True}, workspace=workspace, name=name, path=path))

    def put(self, workspace: str, name: str, path: str, data: bytes, *, if_absent: bool = False) -> StoreEntry:
        query = {"if_absent": if_absent or None}
        answer = self._send("PUT", _FILE, query, body=data, workspace=workspace, name=name, path=path)
        return _entry(answer["entry"])

    def append(
        self,
        workspace: str,
        name: str,
        path: str,
        data: bytes,
        *,
        upload: str,
        offset: int,
        size: int,
        if_absent: bool = False,
    ) -> StoredPart:
        """Send a part of a file of `size` bytes; `upload` identifies the attempt to send it."""
        query = {"if_absent": if_absent or None, "upload": upload, "offset": offset, "size": size}
        answer = self._send("PUT", _FILE, query, body=data, workspace=workspace, name=name, path=path)
        return StoredPart(int(answer["size"]), None if answer["entry"] is None else _entry(answer["entry"]))

    def delete(self, workspace: str, name: str, path: str) -> None:
        self._send("DELETE", _FILE, workspace=workspace, name=name, path=path)


def _entry(fields: Any) -> StoreEntry:
    path, size, etag, modified = fields
    return StoreEntry(check_name(str(path)), int(size), str(etag), float(modified))


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the complete lines; an incomplete one at the end is dropped."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
