"""The files that a table is read from: each has a name, and is fetched when its rows are."""

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
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


@dataclass(frozen=True)
class SourceFile:
    """`name` is what people know it by. `fetch` gives its path on this machine, and may take its time the first time.

    `peek` reads its first bytes, without fetching all of it where that is possible.
    """

    name: str
    fetch: Callable[[], Path]
    peek: Callable[[int], bytes] | None = None

    def open(self) -> Any:
        """The bytes, unpacked when the name says that they are packed."""
        if Path(self.name).suffix.lower() == ".zip":
            raise InvalidInput(
                f"{self.name} is an archive, whose files cannot be read in it",
                f"unpack it; packed one by one, as {' or '.join(_PACKED)}, files are read as they are",
            )
        return self._unpacked(pa.OSFile(str(self.fetch())))

    def head(self, limit: int) -> Any:
        """About the first `limit` bytes, to the end of a line: for a look that need not see the end."""
        if self.peek is None or self._packed():
            return self.open()
        data = self.peek(limit)
        return pa.BufferReader(data[: data.rfind(b"\n") + 1] if len(data) >= limit else data)

    @contextlib.contextmanager
    def explained(self) -> Generator[None, None, None]:
        """What unpacking says of a file that is cut off, or is not packed at all, in words that name it."""
        try:
            yield
        except OSError as error:
            if not self._packed():
                raise
            raise InvalidInput(
                f"{self.name} cannot be unpacked: {error}", "is it whole, and packed as its name says?"
            ) from None

    def _packed(self) -> str | None:
        return _PACKED.get(Path(self.name).suffix.lower())

    def _unpacked(self, stream: Any) -> Any:
        packed = self._packed()
        return pa.CompressedInputStream(stream, packed) if packed else stream


def local_file(path: Path, name: str | None = None) -> SourceFile:
    return SourceFile(name or str(path), lambda: path)


def codec_of(encoding: str) -> str:
    """Python's name of an encoding by the name that users give."""
    plain = encoding.lower().replace("-", "").replace("_", "")
    if plain not in _CODECS:
        raise InvalidInput(f"there is no encoding {encoding!r}", f"the encodings are {', '.join(sorted(_CODECS))}")
    return _CODECS[plain]


def as_text(stream: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """A stream of bytes as text, line ends left as they are."""
    return io.TextIOWrapper(io.BufferedReader(_Readable(stream)), encoding=codec_of(encoding), newline="")


class _Readable(io.RawIOBase):
    """Arrow's streams as Python's: what Arrow unpacks knows no `readinto`."""

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
