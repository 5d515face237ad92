"""Requests to Azure Blob that only tests need: containers, blobs with names that our stores refuse, and shared access
signatures.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import ssl
import time
import urllib.parse
from email.utils import formatdate

_VERSION = "2021-12-02"


def create_container(endpoint: str, account: str, key: str, container: str) -> None:
    _send(endpoint, account, key, f"/{container}", {"restype": "container"}, b"", {})


def put_blob(endpoint: str, account: str, key: str, container: str, name: str, data: bytes) -> None:
    """Create a blob with any name at all."""
    headers = {"x-ms-blob-type": "BlockBlob"}
    _send(endpoint, account, key, f"/{container}/{urllib.parse.quote(name, safe='')}", {}, data, headers)


def account_sas(account: str, key: str, permissions: str = "rwdlac", expiry: str = "2099-01-01T00:00:00Z") -> str:
    """Return a shared access signature for all containers of an account."""
    fields = {"sp": permissions, "ss": "b", "srt": "sco", "se": expiry, "sv": _VERSION}
    text = "\n".join((account, permissions, "b", "sco", "", expiry, "", "", _VERSION, "", ""))
    return urllib.parse.urlencode({**fields, "sig": _signature(key, text)})


def container_sas(
    account: str, key: str, container: str, permissions: str = "racwdl", expiry: str = "2099-01-01T00:00:00Z"
) -> str:
    """Return a shared access signature of the blob service, for one container."""
    fields = {"sp": permissions, "se": expiry, "sv": _VERSION, "sr": "c"}
    place = f"/blob/{account}/{container}"
    text = "\n".join((permissions, "", expiry, place, "", "", "", _VERSION, "c", "", "", "", "", "", "", ""))
    return urllib.parse.urlencode({**fields, "sig": _signature(key, text)})


def bearer_token() -> str:
    """Return a token that Azurite accepts: for storage, of a tenant, valid for an hour.

    It does not check signatures.
    """
    now = int(time.time())
    issuer = "https://sts.windows.net/00000000-0000-0000-0000-000000000000/"
    claims = {"aud": "https://storage.azure.com", "iss": issuer, "iat": now, "nbf": now - 60, "exp": now + 3600}
    parts = (json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims, "nobody"))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def _signature(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


def _send(
    endpoint: str, account: str, key: str, path: str, query: dict[str, str], body: bytes, extra: dict[str, str]
) -> None:
    place = urllib.parse.urlsplit(endpoint)
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _VERSION, **extra}
    named = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    asked = "".join(f"\n{name}:{query[name]}" for name in sorted(query))
    length = str(len(body)) if body else ""
    text = f"PUT\n\n\n{length}\n\n\n\n\n\n\n\n\n{named}/{account}{place.path}{path}{asked}"
    headers["Authorization"] = f"SharedKey {account}:{_signature(key, text)}"
    connection = _connect(place)
    target = f"{place.path}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    connection.request("PUT", target, body, {**headers, "Content-Length": str(len(body))})
    answer = connection.getresponse()
    told = answer.read()
    connection.close()
    if answer.status not in (201, 202):
        raise AssertionError(f"Azurite answered {answer.status}: {told[:500]!r}")


def _connect(place: urllib.parse.SplitResult) -> http.client.HTTPConnection:
    if place.scheme == "http":
        return http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(place.hostname or "", place.port, timeout=30, context=trusting)
