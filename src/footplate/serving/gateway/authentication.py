"""Keys and tokens of a service. The gateway knows hashes of keys, and compares in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

from footplate.domain.serving.routes import ServiceRoute

TOKEN_SECONDS = 12 * 3600


def hash_key(key: str) -> str:
    """Return the hash of a key, which is all that is kept of it outside the database."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_token(secret: str, service: str, now: float, seconds: float = TOKEN_SECONDS) -> str:
    """Return a token that opens a service for some hours."""
    claims = json.dumps({"service": service, "expires": now + seconds}, separators=(",", ":")).encode()
    return f"{_text(claims)}.{_text(_sign(secret, claims))}"


def is_allowed(name: str, service: ServiceRoute, header: str | None) -> bool:
    """Return whether the Authorization header of a request opens the service of this name."""
    if service.auth == "none":
        return True
    scheme, _, credential = (header or "").partition(" ")
    credential = credential.strip()
    if scheme.lower() != "bearer" or not credential:
        return False
    if service.auth == "token":
        return _is_token(name, service.token_key or "", credential)
    hashed = hash_key(credential)
    matches = [hmac.compare_digest(hashed, right) for right in service.key_hashes]  # all of them, in constant time
    return any(matches)


def _is_token(service: str, secret: str, token: str) -> bool:
    text, _, signature = token.partition(".")
    try:
        claims = _bytes(text)
        if not hmac.compare_digest(_bytes(signature), _sign(secret, claims)):
            return False
        claimed = json.loads(claims)
        return bool(claimed["service"] == service and claimed["expires"] > time.time())
    except (ValueError, KeyError, TypeError):
        return False


def _sign(secret: str, text: bytes) -> bytes:
    return hmac.new(secret.encode(), text, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
