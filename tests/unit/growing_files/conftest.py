"""A server of growing files that is a dictionary."""

from __future__ import annotations

import pytest

from footplate.errors import Conflict
from footplate.growing_files import PIECE


class Server:
    """Applies the offset rule of the real server, and remembers the order of the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.calls: list[str] = []

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        return self._append(f"{run}/{path}", offset, data, replace)

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        return self._append(f"{run}/{writer}.{part}", offset, data, False)

    def _append(self, name: str, offset: int, data: bytes, replace: bool) -> int:
        self.calls.append(name)
        have = self.files.get(name, b"")
        if offset > len(have):
            raise Conflict("a gap", size=len(have))
        assert len(data) <= PIECE
        kept = have[:offset] if replace else have
        self.files[name] = kept + data[len(kept) - offset :]
        return len(self.files[name])


@pytest.fixture
def server() -> Server:
    return Server()
