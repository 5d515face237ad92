"""Requests to Azure Blob that only tests make: containers, and blobs under names that a store of ours would refuse."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import urllib.parse
from email.utils import formatdate

_VERSION = "2021-12-02"


def create_container(endpoint: str, account: str, key: str, container: str) -> None:
    _send(endpoint, account, key, f"/{container}", {"restype": "container"}, b"", {})


def put_blob(endpoint: str, account: str, key: str, container: str, name: str, data: bytes) -> None:
    """A blob under any name at all."""
    headers = {"x-ms-blob-type": "BlockBlob"}
    _send(endpoint, account, key, f"/{container}/{urllib.parse.quote(name, safe='')}", {}, data, headers)


def _send(
    endpoint: str, account: str, key: str, path: str, query: dict[str, str], body: bytes, extra: dict[str, str]
) -> None:
    place = urllib.parse.urlsplit(endpoint)
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _VERSION, **extra}
    named = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    asked = "".join(f"\n{name}:{query[name]}" for name in sorted(query))
    length = str(len(body)) if body else ""
    text = f"PUT\n\n\n{length}\n\n\n\n\n\n\n\n\n{named}/{account}{place.path}{path}{asked}"
    signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
    headers["Authorization"] = f"SharedKey {account}:{signature}"
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    target = f"{place.path}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    connection.request("PUT", target, body, {**headers, "Content-Length": str(len(body))})
    answer = connection.getresponse()
    told = answer.read()
    connection.close()
    if answer.status not in (201, 202):
        raise AssertionError(f"Azurite answered {answer.status}: {told[:500]!r}")
