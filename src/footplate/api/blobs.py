"""Content by its SHA-256 digest."""

from __future__ import annotations

from typing import BinaryIO, Iterator, Sequence, Tuple, Union

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
from footplate.domain.replies import MissingBlobs

MISSING_AT_ONCE = 5000
"""The most digests that one request may ask about."""


class BlobsApi(ApiNoun):
    def missing(self, digests: Sequence[str]) -> Tuple[str, ...]:
        """Return the digests that the store lacks; many are sent page by page."""
        pages = (digests[start : start + MISSING_AT_ONCE] for start in range(0, len(digests), MISSING_AT_ONCE))
        return tuple(digest for page in pages for digest in self._ask(page).missing)

    def vouches_for(self, manifest: str) -> bool:
        """Return whether the store has this manifest and has lost no file to damage since."""
        reply = self._ask((manifest,))
        return not reply.missing and not reply.damage

    def _ask(self, digests: Sequence[str]) -> MissingBlobs:
        return from_json(MissingBlobs, self._post("/blobs/missing", {"digests": list(digests)}))

    def put(self, digest: str, content: Union[bytes, BinaryIO]) -> None:
        self._upload("/blobs/{digest}", content, digest=digest)

    def read(self, digest: str) -> Iterator[bytes]:
        """Yield the content of a blob, piece by piece."""
        return self._download("/blobs/{digest}", digest=digest)
