"""Files of a run: artifacts, which are blobs with a name, and logs, which grow."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.records import FileView
from footplate.domain.replies import AddedFiles, AppendedBytes, LogOffset


class FilesApi(ApiNoun):
    def list(self, run: str, prefix: str = "") -> Iterator[FileView]:
        return self._items(FileView, "/runs/{run}/files", {"prefix": prefix or None}, run=run)

    def read(
        self, run: str, path: str, *, offset: Optional[int] = None, limit: Optional[int] = None
    ) -> Iterator[bytes]:
        """Yield the content of a file, piece by piece."""
        query = {"offset": offset, "limit": limit}
        return self._download("/runs/{run}/files/{path}", query, run=run, path=path)

    def archive(self, run: str, prefix: str = "") -> Iterator[bytes]:
        """Yield the files of a run whose paths begin with `prefix` as a zip archive, piece by piece."""
        return self._download("/runs/{run}/archive", {"prefix": prefix or None}, run=run)

    def add(
        self,
        run: str,
        files: Sequence[FileView],
        *,
        automatic: bool = False,
        overwrite: bool = False,
        key: Optional[str] = None,
        attempt: Optional[int] = None,
    ) -> AddedFiles:
        """Give names to blobs that are in the store.

        A name that exists is a Conflict, replaced with `overwrite`, or skipped when `automatic`. `key` makes the
        request idempotent.
        """
        body = {
            "files": to_json(list(files)), "automatic": automatic, "overwrite": overwrite, "key": key,
            "attempt": attempt,
        }  # fmt: skip
        return self._post(AddedFiles, "/runs/{run}/files", body, run=run)

    def recent_offset(self, run: str, path: str, age: float) -> int:
        """Return the offset of the first line that was written in the last `age` seconds; the size if none was."""
        return self._get(LogOffset, "/runs/{run}/recent/{path}", {"age": age}, run=run, path=path).offset

    def append_log(
        self, run: str, path: str, data: bytes, offset: int, replace: bool = False, attempt: Optional[int] = None
    ) -> int:
        """Append bytes that belong at `offset`; return the new size. Bytes that the server has are skipped.

        Raises Conflict with `details["size"]` when bytes before `offset` are missing, and without it for the agent of
        an `attempt` that a later one has replaced.
        """
        query = {"offset": offset, "replace": replace or None, "attempt": attempt}
        return self._upload(AppendedBytes, "/runs/{run}/logs/{path}", data, query, run=run, path=path).size
