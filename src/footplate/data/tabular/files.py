"""The files of a table. Each has a name, and is fetched when its rows are read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from footplate.data.tabular.arrow import pa
from footplate.errors import InvalidInput

_CODECS = {
    "utf8": "utf-8-sig",
    "utf8bom": "utf-8-sig",
    "iso88591": "latin-1",
    "latin1": "latin-1",
    "ascii": "ascii",
    "utf16": "utf-16",
    "utf32": "utf-32",
    "windows1252": "cp1252",
    "cp1252": "cp1252",
}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


@dataclass(frozen=True)
class SourceFile:
    """A file. `name` is for people. `fetch` returns its local path, and may take a while on the first call.

    `peek` reads the first bytes, without fetching the whole file where possible.
    """

    name: str
    fetch: Callable[[], Path]
    peek: Callable[[int], bytes] | None = None

    def open(self) -> Any:
        """Open the file's bytes, decompressed according to the name's suffix."""
        if Path(self.name).suffix.lower() == ".zip":
            raise InvalidInput(
                f"{self.name} is an archive, which cannot be read directly",
                f"extract it; single files compressed as {' or '.join(_COMPRESSIONS)} can be read",
            )
        file = pa.OSFile(str(self.fetch()))
        compression = self._compression()
        return pa.CompressedInputStream(file, compression) if compression else file

    def head(self, limit: int) -> Any:
        """Open about the first `limit` bytes, up to the end of a line."""
        if self.peek is None or self._compression():
            return self.open()
        data = self.peek(limit)
        return pa.BufferReader(data[: data.rfind(b"\n") + 1] if len(data) >= limit else data)

    @contextlib.contextmanager
    def translating_errors(self) -> Generator[None, None, None]:
        """Turn decompression errors into ones that name the file."""
        try:
            yield
        except OSError as error:
            if not self._compression():
                raise
            raise InvalidInput(
                f"{self.name} cannot be decompressed: {error}", "is it complete, and compressed as its suffix says?"
            ) from None

    def _compression(self) -> str | None:
        return _COMPRESSIONS.get(Path(self.name).suffix.lower())


def codec_of(encoding: str) -> str:
    """Return Python's name of an encoding, given the user's."""
    plain = encoding.lower().replace("-", "").replace("_", "")
    if plain not in _CODECS:
        raise InvalidInput(
            f"{encoding!r} is not a supported encoding", f"the encodings are {', '.join(sorted(_CODECS))}"
        )
    return _CODECS[plain]


def as_text(stream: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """Wrap a byte stream as text with unchanged line ends."""
    return io.TextIOWrapper(io.BufferedReader(_Readable(stream)), encoding=codec_of(encoding), newline="")


class _Readable(io.RawIOBase):
    """Adapts Arrow's streams, whose decompressing ones lack `readinto`, to Python's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
