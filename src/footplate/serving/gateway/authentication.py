"""Keys and tokens of a service. The gateway knows hashes of keys, and compares in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

from footplate.serving.gateway.routes import Service

TOKEN_SECONDS = 12 * 3600


def hash_key(key: str) -> str:
    """Return the hash of a key, which is all that is kept of it outside the database."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_token(secret: str, service: str, now: float, seconds: float = TOKEN_SECONDS) -> str:
    """Return a token that opens a service for some hours."""
    claims = json.dumps({"service": service, "expires": now + seconds}, separators=(",", ":")).encode()
    return f"{_text(claims)}.{_text(_sign(secret, claims))}"


def is_allowed(service: Service, header: str | None, now: float | None = None) -> bool:
    """Tell whether the Authorization header of a request opens the service."""
    if service.auth == "none":
        return True
    scheme, _, given = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        return False
    if service.auth == "token":
        return _is_token(service, given.strip(), time.time() if now is None else now)
    found = hash_key(given.strip())
    matches = [hmac.compare_digest(found, known) for known in service.key_hashes]  # all of them, in constant time
    return any(matches)


def _is_token(service: Service, token: str, now: float) -> bool:
    claims, _, signature = token.partition(".")
    try:
        text, given = _bytes(claims), _bytes(signature)
        if not hmac.compare_digest(given, _sign(service.token_key or "", text)):
            return False
        known = json.loads(text)
        return bool(known["service"] == service.name and known["expires"] > now)
    except (ValueError, KeyError, TypeError):
        return False


def _sign(secret: str, text: bytes) -> bytes:
    return hmac.new(secret.encode(), text, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
