"""What object stores say when they refuse, as errors of ours: by the status and the store's own code alone.

The rest of what they say is never passed on, for it may hold addresses, and these signatures.
"""

from __future__ import annotations

from footplate.data.stores.web_client import untrusted
from footplate.domain.data import StoreSpec
from footplate.errors import FootplateError, InvalidInput, NotAllowed, NotFound, Unavailable

_NOBODY = ("ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId", "SignatureDoesNotMatch")
_NO_PLACE = ("NoSuchBucket", "ContainerNotFound", "FilesystemNotFound")
_LATER = (408, 425, 429)


def named(spec: StoreSpec, path: str = "") -> str:
    """A file of an object store, or the store, as errors call it."""
    store = f"the {spec.kind} store {spec.location.get('container') or spec.location['bucket']!r}"
    return f"{path!r} in {store}" if path else store


def refusal(spec: StoreSpec, path: str, status: int | None, code: str, cause: str = "") -> FootplateError:
    """The error for an answer with this status and code; `cause` says why there is no answer."""
    where = named(spec, path)
    told = " ".join(part for part in (str(status or ""), code, cause) if part) or "no answer"
    if code in _NO_PLACE:
        return NotFound(f"there is no {named(spec)[4:]} ({told})", "look at its name; make it first if it is new")
    if status in (401, 403) or code in _NOBODY:
        return NotAllowed(f"{where} may not be used ({told})", "look at the credentials: key, expiry, permissions")
    if status == 404:
        return NotFound(f"there is no {where}", "names are case-sensitive; list what is there")
    if status is not None and 300 <= status < 500 and status not in _LATER:
        return InvalidInput(f"{where} was refused ({told})", "look at the name, region and endpoint of the store")
    if cause.lower() == "certificate":
        return untrusted(where)
    return Unavailable(f"{where} could not be reached ({told})", "look at the endpoint and the network; try again")
