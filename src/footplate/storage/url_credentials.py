"""Credentials of package channels and indexes, by URL: one encrypted file of the home, which most homes lack."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from footplate.disk import atomic_write
from footplate.storage.database_errors import translated
from footplate.storage.encryption import Seal


class LoginFile:
    """The file of credentials. The last one given for a URL is kept. Used by any thread of one process, the server."""

    def __init__(self, home: Path, seal: Seal) -> None:
        self._path = home / "logins.sealed"
        self._seal = seal
        self._guard = threading.Lock()

    def all(self) -> dict[str, str]:
        with translated():
            try:
                sealed = self._path.read_bytes()
            except FileNotFoundError:
                return {}
        return json.loads(self._seal.open(str(self._path), sealed))

    def put(self, logins: Mapping[str, str]) -> None:
        if not logins:
            return
        with self._guard:
            stored = self.all()
            if stored != (merged := {**stored, **logins}):
                with translated():
                    atomic_write(self._path, self._seal.close(json.dumps(merged)), durable=True, mode=0o600)
