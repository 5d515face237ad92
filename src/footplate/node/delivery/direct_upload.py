"""Large files on ways around HTTP: straight to the server's object store, or through a directory that nodes share.

`send` uses URLs that the server has signed. The server lists the parts that the store lacks. So an agent that starts
over sends only those, and a file exists for the run only when the server has found all of its parts.

`SharedFolder` uses the directory that the nodes of a target share, if the server sees it, too: a small probe file
tells. If not, or if anything goes wrong, files are sent over HTTP.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, NamedTuple, Protocol

from footplate.content.blobs import hash_file
from footplate.disk import atomic_file, copy
from footplate.domain.replies import DirectUpload, UploadPart
from footplate.domain.shipments import handover_name
from footplate.errors import InvalidInput

_PARALLEL = 4
_ATTEMPTS_WITHOUT_PROGRESS = 3
_TIMEOUT_SECONDS = 60.0  # without a byte


class UploadingServer(Protocol):
    """The part of the agent's link that an upload uses."""

    def upload_directly(self, digest: str, size: int) -> DirectUpload: ...


class FileVersion(NamedTuple):
    """The signs by which a changed file is recognized. The time of its last change is none: links change it too."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> FileVersion:
        return cls(info.st_size, info.st_mtime_ns, info.st_ino)


def send(server: UploadingServer, path: str, say: Callable[[str], None]) -> tuple[str, int, bool]:
    """Upload a file; return its digest, its size and whether it is stored. Otherwise it must go to the server."""
    version = FileVersion.of(os.stat(path))
    digest, size = hash_file(path)
    return digest, size, _send_missing(server, path, digest, version, say)


def _send_missing(
    server: UploadingServer, path: str, digest: str, version: FileVersion, say: Callable[[str], None]
) -> bool:
    """Send parts until the store lacks none; return False if three attempts in a row get no part into it."""
    failures = 0
    while failures < _ATTEMPTS_WITHOUT_PROGRESS:
        plan = server.upload_directly(digest, version.size)
        if plan.stored:
            return True
        if not plan.parts:
            return False
        problems = _send_parts(path, version, plan.parts, plan.headers)
        failures = failures + 1 if len(problems) == len(plan.parts) else 0
        if problems:
            say(f"{len(problems)} of {len(plan.parts)} parts of {path} did not reach the object store: {problems[0]}")
    say(f"{path} is sent to the server instead")
    return False


def _send_parts(path: str, version: FileVersion, parts: Sequence[UploadPart], headers: Mapping[str, str]) -> list[str]:
    """Send parts, a few at a time; return why some did not arrive."""

    def send_part(part: UploadPart) -> str:
        return _send_part(path, version, part, headers)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        return [problem for problem in pool.map(send_part, parts) if problem]


def _send_part(path: str, version: FileVersion, part: UploadPart, headers: Mapping[str, str]) -> str:
    """Send one part; return what went wrong, without the URL, whose signature is a secret."""
    data = _read(path, version, part)
    checked = {**headers, **_checksum(data), "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(part.url, data=data, headers=checked, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        return f"it answered with status {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", "") or error or type(error).__name__)
    return ""


def _checksum(data: bytes) -> dict[str, str]:
    """Return the header by which every object store recognizes damage on the way."""
    try:
        return {"Content-MD5": base64.b64encode(hashlib.md5(data).digest()).decode()}
    except ValueError:  # a machine in FIPS mode has no MD5
        return {}


def _read(path: str, version: FileVersion, part: UploadPart) -> bytes:
    """Read a part. Bytes of another version must never get into the store under this digest."""
    with open(path, "rb", buffering=0) as file:
        data = bytearray()
        at = part.offset
        while len(data) < part.size and (piece := os.pread(file.fileno(), part.size - len(data), at + len(data))):
            data += piece
        if len(data) != part.size or FileVersion.of(os.fstat(file.fileno())) != version:
            raise InvalidInput(f"{path} changed while it was sent", "write files that are complete to ./outputs")
    return bytes(data)


SMALLEST = 8 << 20
"""Smaller files are sent over HTTP, which costs fewer requests."""

_FORGOTTEN_SECONDS = 7 * 24 * 3600.0


class ReceivingServer(Protocol):
    """The part of the agent's link that a handover uses."""

    def hand_over(self, digest: str, size: int, probe: bool) -> bool: ...


class SharedFolder:
    """The shared directory of a target, as one node uses it."""

    def __init__(self, server: ReceivingServer, root: str, run: str, node: int, say: Callable[[str], None]) -> None:
        self._server, self._root, self._run, self._node, self._say = server, root, run, node, say
        self._is_seen: bool | None = None  # by the server

    def hand_over(self, path: str, digest: str, size: int) -> bool:
        """Place a file for the server; return False if it must be sent instead."""
        try:
            if self._is_seen is None:
                self._is_seen = self._probe()
            return self._is_seen and self._place(path, digest, size)
        except OSError as error:  # a full or read-only directory
            self._say(f"{path} does not go through {self._root}: {error}")
            return False

    def _probe(self) -> bool:
        content = os.urandom(32)
        digest = hashlib.sha256(content).hexdigest()
        target = self._target(digest)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        self._sweep(os.path.dirname(target))
        try:
            with atomic_file(target, durable=True, mode=0o600) as out:
                os.write(out, content)
            return self._server.hand_over(digest, len(content), probe=True)
        finally:
            _remove(target)

    def _place(self, path: str, digest: str, size: int) -> bool:
        target = self._target(digest)
        try:
            with open(path, "rb", buffering=0) as source, atomic_file(target, durable=True, mode=0o600) as out:
                copy(source.fileno(), out)
            is_taken = self._server.hand_over(digest, size, probe=False)
            if is_taken:
                self._say(f"{path} was handed over through the shared directory")
            return is_taken
        finally:
            _remove(target)

    def _target(self, digest: str) -> str:
        return os.path.join(self._root, handover_name(self._run, self._node, digest))

    @staticmethod
    def _sweep(folder: str) -> None:
        """Remove files of agents that were killed in between, and never started again."""
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # removed meanwhile, or the file of another user
                    if entry.stat(follow_symlinks=False).st_mtime < time.time() - _FORGOTTEN_SECONDS:
                        os.unlink(entry.path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
