"""Signed links: addresses of run files that a browser or `urllib` can read without a token, for a limited time.

The token of the server signs them. Inside a job, the token of its run does, and for a person a key that the server
gives to the holder of a token (`GET /whoami`). Such a link names its signer, gives no more rights than that token, and
ends with it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import Mapping, Optional
from urllib.parse import quote, urlencode

from footplate.api import PREFIX

SIGNER = "signer"
"""Parameter of a link: the run and its attempt, or the id of a person's token. A link of the server has none."""

PERSON = "token:"
"""The beginning of a signer that is the id of a person's token."""

_RUN_TOKEN = re.compile(r"(.+\.\d{1,9})\.[0-9a-f]{64}")
LIFETIME = 24 * 3600.0
"""Seconds that a link stays valid."""


def file_link(
    endpoint: str, run: str, path: str, token: str, now: Optional[float] = None, token_id: Optional[str] = None
) -> str:
    """Return a link to a file of a run, signed with the token of the server or of a run.

    With `token_id`, that of a person, `token` is the key that the server gave for it.
    """
    inside = f"{PREFIX}/runs/{run}/files/{path}"
    expires = int((time.time() if now is None else now) + LIFETIME)
    by_run = _RUN_TOKEN.fullmatch(token)
    signer = {SIGNER: by_run[1]} if by_run else {}
    if token_id is not None:
        signer = {SIGNER: PERSON + token_id}
    query = urlencode({**signer, "expires": expires, "signature": sign(inside, expires, token)})
    return f"{endpoint.rstrip('/')}{quote(inside)}?{query}"


def sign(path: str, expires: int, token: str) -> str:
    return hmac.new(token.encode(), f"GET\n{path}\n{expires}".encode(), hashlib.sha256).hexdigest()


def is_signed(path: str, query: Mapping[str, str], token: str, now: Optional[float] = None) -> bool:
    """Tell whether the query holds a signature of this path that has not expired."""
    expires = query.get("expires", "")
    if not expires.isascii() or not expires.isdigit() or int(expires) < (time.time() if now is None else now):
        return False
    return hmac.compare_digest(query.get("signature", "").encode(), sign(path, int(expires), token).encode())
