"""Zip archives that are made while they are sent: neither memory nor the disk holds a whole one."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO, cast

from footplate.domain.records import FileView

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # that the format can express
_PLAIN = 0o100644 << 16


class _Pipe:
    """A file that only grows, and whose new bytes are taken from it. `zipfile` needs no more of a stream."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: the reader takes what there is."""

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def pack(files: Iterable[FileView], read: Callable[[FileView], Iterator[bytes]]) -> Iterator[bytes]:
    """Yield a zip archive of these files, piece by piece. Contents are stored as they are."""
    pipe = _Pipe()
    with zipfile.ZipFile(cast("IO[bytes]", pipe), "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            about = zipfile.ZipInfo(file.path, _date(file.modified))
            about.external_attr = _PLAIN
            with archive.open(about, "w", force_zip64=True) as target:
                for piece in read(file):
                    target.write(piece)
                    yield pipe.take()
    yield pipe.take()


def _date(moment: float | None) -> tuple[int, int, int, int, int, int]:
    date = time.gmtime(moment or 0.0)[:6]
    return max(date, _EARLIEST)
