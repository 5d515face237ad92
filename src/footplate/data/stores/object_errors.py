"""Translation of object stores' error responses, based on the status and the store's own code alone.

The rest of a response is never passed on, because it may contain URLs with signatures.
"""

from __future__ import annotations

from footplate.data.stores.web_client import certificate_error
from footplate.domain.data import StoreSpec
from footplate.errors import FootplateError, InvalidInput, NotAllowed, NotFound, Unavailable

_BAD_CREDENTIALS = (
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
)
_NO_CONTAINER = ("NoSuchBucket", "ContainerNotFound", "FilesystemNotFound")
_RETRYABLE = (408, 425, 429)


def display_name(spec: StoreSpec, path: str = "") -> str:
    """Return the name of a store, or of one of its files, for error messages."""
    store = f"the {spec.kind} store {spec.location.get('container') or spec.location['bucket']!r}"
    return f"{path!r} in {store}" if path else store


def error_for(spec: StoreSpec, path: str, status: int | None, code: str, cause: str = "") -> FootplateError:
    """Return the error for a response with this status and code; `cause` explains a missing response."""
    where = display_name(spec, path)
    details = " ".join(part for part in (str(status or ""), code, cause) if part) or "no answer"
    if code in _NO_CONTAINER:
        return NotFound(
            f"there is no {display_name(spec)[4:]} ({details})", "check its name; create it first if it is new"
        )
    if status in (401, 403) or code in _BAD_CREDENTIALS:
        return NotAllowed(f"{where} denies access ({details})", "check the credentials: key, expiry, permissions")
    if status == 404:
        return NotFound(f"{where} does not exist", "names are case-sensitive; list the folder")
    if status is not None and 300 <= status < 500 and status not in _RETRYABLE:
        return InvalidInput(
            f"{where}: the store rejected the request ({details})", "check the store's name, region and endpoint"
        )
    if cause.lower() == "certificate":
        return certificate_error(where)
    return Unavailable(
        f"{where} could not be reached ({details})", "check the endpoint and the network, then try again"
    )
