"""Content by its SHA-256 digest."""

from __future__ import annotations

from typing import BinaryIO, Iterator, Sequence, Tuple, Union

from footplate.api.base import ApiNoun
from footplate.domain.replies import CollectedGarbage, MissingBlobs

MISSING_AT_ONCE = 5000
"""The most digests that one request may ask about."""

GRACE_SECONDS = 24 * 3600.0
"""How long content stays that nothing refers to: somebody may be about to submit it."""

_COLLECT_SECONDS = 3600.0  # a large store takes a while


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
        return self._post(MissingBlobs, "/blobs/missing", {"digests": list(digests)})

    def collect_garbage(self, older_than: float = GRACE_SECONDS, dry_run: bool = False) -> CollectedGarbage:
        """Remove blobs that nothing refers to and nobody asked about for `older_than` seconds."""
        body = {"older_than": older_than, "dry_run": dry_run}
        return self._post(CollectedGarbage, "/blobs/collect-garbage", body, timeout=_COLLECT_SECONDS)

    def put(self, digest: str, content: Union[bytes, BinaryIO]) -> None:
        self._send("PUT", "/blobs/{digest}", body=content, digest=digest)

    def read(self, digest: str) -> Iterator[bytes]:
        """Yield the content of a blob, piece by piece."""
        return self._download("/blobs/{digest}", digest=digest)
