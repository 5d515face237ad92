"""Encryption of values in the database, with a key that is a file of the home directory, mode 0600.

A copy of the database alone does not reveal them. PyNaCl is loaded when something is first encrypted.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING

from footplate.disk import atomic_file, write_all
from footplate.errors import Broken
from footplate.storage.database_errors import translated

if TYPE_CHECKING:
    from nacl.secret import SecretBox


class Seal:
    """Encrypts and decrypts texts. Any thread and any number of processes may use it."""

    def __init__(self, home: Path) -> None:
        self._key = home / "secrets.key"

    def close(self, text: str) -> bytes:
        return bytes(self._cipher().encrypt(text.encode("utf-8", "surrogatepass")))

    def open(self, what: str, sealed: bytes) -> str:
        """Decrypt; `what` names the value in an error."""
        from nacl.exceptions import CryptoError  # noqa: PLC0415  # lazy: most servers keep no secrets

        try:
            return self._cipher().decrypt(sealed).decode("utf-8", "surrogatepass")
        except (CryptoError, ValueError):  # ValueError: too short to be encrypted data
            raise Broken(
                f"{what} cannot be decrypted with {self._key}",
                "bring back the key file that was there when it was set, or set it again",
            ) from None

    def derive(self, purpose: str) -> str:
        """Derive a secret for a purpose from the key file, without revealing the key."""
        return hmac.new(self._key_bytes(), purpose.encode(), hashlib.sha256).hexdigest()

    def _cipher(self) -> SecretBox:
        from nacl.secret import SecretBox  # noqa: PLC0415  # lazy, as above

        try:
            return SecretBox(base64.urlsafe_b64decode(self._key_bytes()))
        except ValueError:
            raise Broken(f"{self._key} holds no key", "bring back the file that was there before") from None

    def _key_bytes(self) -> bytes:
        with translated():
            if not self._key.exists():
                self._make_key(base64.urlsafe_b64encode(os.urandom(32)))
            return self._key.read_bytes()

    def _make_key(self, key: bytes) -> None:
        """Write the key file, whole or not at all, and never over a key that another process has just created."""
        with contextlib.suppress(FileExistsError):
            with atomic_file(self._key, durable=True, mode=0o600, overwrite=False) as out:
                write_all(out, key)
