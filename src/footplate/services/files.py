"""Files of runs: artifacts, which are named blobs, and logs, which grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import BinaryIO

from footplate.domain.orders import checkpoint_folder
from footplate.domain.records import FileView, NodeState, RunRecord, Stage
from footplate.domain.replies import CollectedGarbage
from footplate.domain.runs.run_status import TERMINAL
from footplate.errors import Broken, Conflict, InvalidInput, NotFound
from footplate.services.artifacts.archives import pack
from footplate.services.artifacts.object_blobs import ObjectBlobs
from footplate.services.artifacts.superseded import Collect, SupersededContents
from footplate.services.orchestration import controller_table
from footplate.services.topics import Publish, RunChanged
from footplate.storage import Storage
from footplate.storage.upkeep.garbage import collect_garbage

CHUNK = 1 << 20
BUILD_LOGS = "azureml-logs/20_image_build_log"


@dataclass(frozen=True)
class Tail:
    """The new part of a log: its name, the offset to continue at, and the text."""

    log: str | None
    offset: int
    text: str


class FileService:
    def __init__(
        self, store: Storage, publish: Publish, objects: ObjectBlobs,
        superseded: Callable[[Collect], SupersededContents] = SupersededContents,
    ) -> None:  # fmt: skip
        self._store = store
        self._objects = objects
        self._publish = publish
        self._superseded = superseded(lambda digests, grace: self._collect(grace, False, digests))

    def list(self, run: str, prefix: str = "") -> list[FileView]:
        """Return artifacts and logs together, by path. A log that is also an artifact appears once."""
        self._check_logs(self._store.runs.record(run))
        artifacts = {f.path: f for f in self._store.files.list(run, prefix)}
        logs = {f.path: f for f in self._store.logs.list(run) if f.path.startswith(prefix)}
        return [f for _, f in sorted({**logs, **artifacts}.items())]

    def _check_logs(self, record: RunRecord) -> None:
        """Raise Broken if an ended run has lost logs: an empty answer would look like a script that printed nothing."""
        totals = [node.logs for node in record.nodes if node.logs is not None]
        if record.stage is Stage.ENDED and totals:
            self._store.logs.check(record.id, max(totals))

    def find(self, run: str, path: str) -> FileView:
        record = self._store.runs.record(run)
        try:
            return self._store.files.get(run, path)
        except NotFound:
            size = next((f for f in self._store.logs.list(run) if f.path == path), None)
            if size is None:
                self._check_logs(record)
                raise NotFound(
                    f"run {run} has no file {path!r}", f"see what it has with: footplate runs files {run}", run=run
                ) from None
            return size

    def read(self, run: str, file: FileView, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        offset = min(offset, file.size)
        length = file.size - offset if limit is None else min(limit, file.size - offset)
        if file.digest is None:
            return self._read_log(run, file.path, offset, length)
        with self._naming(run, file):
            return self.read_blob(file.digest) if length == file.size else self._read_part(file.digest, offset, length)

    def archive(self, run: str, prefix: str) -> Iterator[bytes]:
        """Return the files under `prefix` as a zip archive, made while it is read."""
        return pack(self.list(run, prefix), lambda file: self.read(run, file))

    def _is_elsewhere(self, digest: str) -> bool:
        """Whether the content is only in the object store."""
        return not self._store.blobs.has(digest) and self._objects.has(digest)

    @contextmanager
    def _naming(self, run: str, file: FileView) -> Generator[None, None, None]:
        """Name the file and the run in the error about a damaged blob; the size alone is evidence of damage."""
        try:
            digest = file.digest or ""
            if not self._is_elsewhere(digest) and file.size != self._store.blobs.size(digest):
                self._store.blobs.verify(digest)
            yield
        except Broken as error:
            message = f"the content of {file.path!r} of run {run} is damaged: {error.message}"
            raise Broken(message, error.hint, **error.details, run=run) from None

    def _read_log(self, run: str, path: str, offset: int, length: int) -> Iterator[bytes]:
        while length > 0:
            data = self._store.logs.read(run, path, offset, min(CHUNK, length))
            if not data:
                return
            yield data
            offset, length = offset + len(data), length - len(data)

    def read_blob(self, digest: str) -> Iterator[bytes]:
        """Open the blob at once: a missing or damaged blob is an error, not a response that breaks off."""
        return self._objects.read(digest) if self._is_elsewhere(digest) else self._store.blobs.read(digest)

    def _read_part(self, digest: str, offset: int, limit: int) -> Iterator[bytes]:
        if self._is_elsewhere(digest):
            return self._objects.read_part(digest, offset, limit)
        source = self._store.blobs.open_part(digest)
        source.seek(offset)
        return _pieces(source, limit)

    def add(
        self,
        run: str,
        files: list[FileView],
        automatic: bool,
        request: str | None = None,
        attempt: int | None = None,
        overwrite: bool = False,
    ) -> tuple[list[str], list[str]]:
        """Name blobs that are in the store as files of the run, of the current attempt unless another is given.

        `request` identifies a repeated call.
        """
        present = self._store.runs.record(run).attempt
        attempt = present if attempt is None else min(attempt, present)
        for file in files:
            check_content(self._store, file)
        stored, skipped = self._store.files.add(run, files, automatic, time.time(), request, attempt, overwrite)
        self._publish(RunChanged(run))
        return stored, skipped

    def remove(self, run: str, path: str) -> None:
        """Remove a file, or all files of a folder, from a run. Their contents stay until nothing refers to them."""
        self._store.runs.record(run)
        self._store.files.remove(run, path)
        self._publish(RunChanged(run))

    def save_checkpoints(self, run: str, node: int, files: list[FileView], attempt: int) -> list[str]:
        """Replace the saved checkpoints of a node by these, whose blobs are in the store, all at once.

        Return the skipped paths: the run has had files of that name. An agent of an earlier attempt is refused.
        """
        present = self._store.runs.record(run).attempt
        if attempt != present:
            raise Conflict(f"run {run} is at attempt {present}, not {attempt}", "this agent is of another attempt")
        folder = checkpoint_folder(node)
        for file in files:
            if not file.path.startswith(f"{folder}/"):
                raise InvalidInput(
                    f"{file.path!r} is not a checkpoint of node {node}", f"its paths begin with {folder}/"
                )
            check_content(self._store, file)
        before = {file.digest for file in self._store.files.list(run, f"{folder}/") if file.digest is not None}
        skipped = self._store.files.replace(run, folder, files, time.time(), attempt)
        self._superseded.add(before - {file.digest for file in files})
        self._publish(RunChanged(run))
        return skipped

    def append_log(
        self, run: str, path: str, offset: int, data: bytes, replace: bool, attempt: int | None = None
    ) -> int:
        """Append to a log and return its size. Refuse an agent of an `attempt` once a node of a later one has joined.

        Both would write behind what the server has, each at offsets of its own.
        """
        if attempt is not None:
            record = self._store.runs.record(run)
            if attempt < record.attempt and any(node.state is not NodeState.LAUNCHED for node in record.nodes):
                raise Conflict(
                    f"attempt {record.attempt} of run {run} writes {path} now, not {attempt}",
                    "this agent is of an earlier attempt: end it",
                )
        size = self._store.logs.append(run, path, offset, data, replace)
        self._publish(RunChanged(run))
        return size

    def recent(self, run: str, path: str, age: float) -> int:
        """Return the offset from which on a file was written in the last `age` seconds."""
        file = self.find(run, path)
        moment = time.time() - age
        if file.digest is None:
            return self._store.logs.recent(run, path, moment)
        return 0 if (file.modified or 0.0) > moment else file.size

    def tail(self, run: str, log: str | None, offset: int, limit: int = CHUNK) -> Tail:
        """Return the next part of a log, cut at a whole character as long as the run may still complete it."""
        name = log or self.primary_log(run)
        data = b"" if name is None else self._store.logs.read(run, name, offset, limit)
        if not data:
            self._check_logs(self._store.runs.record(run))
        if name is None:
            return Tail(None, 0, "")
        if self._store.runs.view(run).status not in TERMINAL or len(data) == limit:
            data = _whole_characters(data)
        return Tail(name, offset + len(data), data.decode("utf-8", "replace"))

    def primary_log(self, run: str) -> str | None:
        """Return the log that a user wants first: that of the first rank, or the environment build before there is one.

        Of several nodes on one machine, one builds, and the others only log that they wait. A sweep logs its decisions.
        """
        logs = self._store.logs.list(run)
        users = sorted(f.path for f in logs if f.path.startswith("user_logs/std_log"))
        builds = sorted((-f.size, f.path) for f in logs if f.path.startswith(BUILD_LOGS))
        groups = [f.path for f in logs if f.path in controller_table.LOGS.values()]
        return next(iter([*users, *(path for _, path in builds), *groups]), None)

    # ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def missing(self, digests: Iterable[str]) -> list[str]:
        return [d for d in digests if not self._store.blobs.has(d)]

    def has_lost_blobs(self) -> bool:
        return self._store.blobs.has_lost_blobs()

    def collect_garbage(self, older_than: float, dry_run: bool) -> CollectedGarbage:
        """Remove blobs that nothing refers to and nobody asked about for `older_than` seconds."""
        return self._collect(older_than, dry_run, None)

    def _collect(self, older_than: float, dry_run: bool, only: set[str] | None) -> CollectedGarbage:
        local = collect_garbage(self._store, older_than, dry_run, only)
        remote = self._objects.collect_garbage(older_than, dry_run, only)
        return CollectedGarbage(*(here + there for here, there in zip(astuple(local), astuple(remote), strict=True)))

    def put_blob(self, digest: str, chunks: Iterable[bytes]) -> None:
        self._store.blobs.put_stream(digest, chunks)


def check_content(store: Storage, file: FileView) -> None:
    """Raise InvalidInput for a file whose content is not in the store or has another size."""
    size = None if file.digest is None else _stored_size(store, file.digest)
    if size is None:
        raise InvalidInput(f"the content of {file.path!r} is not in the store", "send its blob first")
    if file.size != size:
        raise InvalidInput(
            f"{file.path!r} should have {file.size} bytes, and its blob has {size}", "send the size of its blob"
        )


def _stored_size(store: Storage, digest: str) -> int | None:
    """Return the size of a blob; None if neither the server's folder nor the object store has it."""
    if store.blobs.has(digest):
        return store.blobs.size(digest)
    record = store.object_records.find(digest)
    return None if record is None else record.size


def _pieces(source: BinaryIO, limit: int) -> Iterator[bytes]:
    with source:
        while limit > 0 and (data := source.read(min(CHUNK, limit))):
            yield data
            limit -= len(data)


def _whole_characters(data: bytes) -> bytes:
    """Drop a UTF-8 character that is cut off at the end: the next part has all of it."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        width = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if width > back else data
    return data
