"""Signed links: addresses of run files that a browser or `urllib` can read without a token, for a limited time."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Mapping, Optional
from urllib.parse import quote, urlencode

from footplate.api import PREFIX

LIFETIME = 24 * 3600.0
"""Seconds that a link stays valid."""


def file_link(endpoint: str, run: str, path: str, token: str, now: Optional[float] = None) -> str:
    """Return a link to a file of a run, signed with the token of the server."""
    inside = f"{PREFIX}/runs/{run}/files/{path}"
    expires = int((time.time() if now is None else now) + LIFETIME)
    query = urlencode({"expires": expires, "signature": sign(inside, expires, token)})
    return f"{endpoint.rstrip('/')}{quote(inside)}?{query}"


def sign(path: str, expires: int, token: str) -> str:
    return hmac.new(token.encode(), f"GET\n{path}\n{expires}".encode(), hashlib.sha256).hexdigest()


def is_signed(path: str, query: Mapping[str, str], token: str, now: Optional[float] = None) -> bool:
    """Tell whether the query holds a signature of this path that has not expired."""
    expires = query.get("expires", "")
    if not expires.isascii() or not expires.isdigit() or int(expires) < (time.time() if now is None else now):
        return False
    return hmac.compare_digest(query.get("signature", "").encode(), sign(path, int(expires), token).encode())
