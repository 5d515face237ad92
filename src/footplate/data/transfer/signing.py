"""Signatures for multipart uploads to S3 and Azure Blob.

obstore uploads in parts too, but cannot resume an upload that another process began, and does not sign URLs with query
parameters of our own. botocore could sign for S3 alone, with 29 MB on disk and 220 ms of imports; both signatures
together are 60 lines.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import urllib.parse
from collections.abc import Mapping
from email.utils import formatdate
from typing import NamedTuple, Protocol

from footplate.domain.data import StoreSpec
from footplate.domain.store_names import clean_folder, join

_AZURE_VERSION = "2021-12-02"
_UNSIGNED = "UNSIGNED-PAYLOAD"


class SignedRequest(NamedTuple):
    url: str
    headers: dict[str, str]


class Signer(Protocol):
    def sign(self, method: str, path: str, query: Mapping[str, str], length: int) -> SignedRequest:
        """Return the request for the file `path` with a body of `length` bytes. Signatures expire, so send it soon."""
        ...


class S3Signer:
    """AWS Signature Version 4 with an unsigned body: TLS protects it, and hashing would read it twice."""

    def __init__(self, spec: StoreSpec) -> None:
        place, secrets = spec.location, spec.credentials
        self._region = place.get("region") or "us-east-1"
        if place.get("endpoint"):
            self._base = f"{place['endpoint'].rstrip('/')}/{place['bucket']}"
        else:
            self._base = f"https://{place['bucket']}.s3.{self._region}.amazonaws.com"
        self._prefix = clean_folder(place.get("prefix"))
        self._id, self._secret = secrets["access_key_id"], secrets["secret_access_key"]
        self._session = secrets.get("session_token")

    @staticmethod
    def can(spec: StoreSpec) -> bool:
        return {"access_key_id", "secret_access_key"} <= spec.credentials.keys()

    def sign(self, method: str, path: str, query: Mapping[str, str], length: int) -> SignedRequest:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        place = urllib.parse.urlsplit(f"{self._base}/{_quote(join(self._prefix, path))}")
        headers = {"host": place.netloc, "x-amz-content-sha256": _UNSIGNED, "x-amz-date": moment}
        if self._session:
            headers["x-amz-security-token"] = self._session
        query_text = "&".join(f"{_quote(name, '')}={_quote(query[name], '')}" for name in sorted(query))
        signed = ";".join(sorted(headers))
        scope = f"{moment[:8]}/{self._region}/s3/aws4_request"
        header_lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        canonical = "\n".join((method, place.path, query_text, header_lines, signed, _UNSIGNED))
        text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        key = f"AWS4{self._secret}".encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        signature = f"Credential={self._id}/{scope}, SignedHeaders={signed}, Signature={_hmac(key, text).hex()}"
        headers["Authorization"] = f"AWS4-HMAC-SHA256 {signature}"
        return SignedRequest(f"{place.geturl()}?{query_text}", headers)


class AzureSigner:
    """A shared key, a shared access signature, or a token. obstore handles service principals."""

    def __init__(self, spec: StoreSpec) -> None:
        place = spec.location
        self._account = place["account"]
        self._secrets = spec.credentials
        endpoint = place.get("endpoint") or f"https://{self._account}.blob.core.windows.net"
        self._base = f"{endpoint.rstrip('/')}/{place['container']}"
        self._prefix = clean_folder(place.get("prefix"))

    @staticmethod
    def can(spec: StoreSpec) -> bool:
        return bool({"key", "sas", "token"} & spec.credentials.keys())

    def sign(self, method: str, path: str, query: Mapping[str, str], length: int) -> SignedRequest:
        place = urllib.parse.urlsplit(f"{self._base}/{_quote(join(self._prefix, path))}")
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _AZURE_VERSION}
        query_text = urllib.parse.urlencode(query)
        if "key" in self._secrets:
            signature = self._signature(method, place.path, query, headers, length)
            headers["Authorization"] = f"SharedKey {self._account}:{signature}"
        elif "sas" in self._secrets:
            query_text = f"{query_text}&{self._secrets['sas'].lstrip('?')}"
        else:
            headers["Authorization"] = f"Bearer {self._secrets['token']}"
        return SignedRequest(f"{place.geturl()}?{query_text}", headers)

    def _signature(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], length: int
    ) -> str:
        header_lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        query_text = "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        text = f"{method}\n\n\n{length or ''}\n\n\n\n\n\n\n\n\n{header_lines}/{self._account}{path}{query_text}"
        key = base64.b64decode(self._secrets["key"])
        return base64.b64encode(_hmac(key, text)).decode()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _quote(text: str, safe: str = "/") -> str:
    return urllib.parse.quote(text, safe=f"{safe}-_.~", errors="surrogateescape")
