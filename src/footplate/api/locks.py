"""Locks (resolved environments), builds, and what is built on the server's machine."""

from __future__ import annotations

from typing import Iterator, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.orders import Lock
from footplate.domain.records import BuildView, BuiltView, CacheView, ClearedView
from footplate.domain.specs import EnvironmentSpec


class LocksApi(ApiNoun):
    def resolve(self, environment: EnvironmentSpec, refresh: bool = False) -> Lock:
        """Resolve an environment. Equal content keeps its lock until `refresh`."""
        return self._post(Lock, "/locks", {"environment": to_json(environment), "refresh": refresh})

    def get(self, digest: str) -> Lock:
        return self._get(Lock, "/locks/{digest}", digest=digest)

    def of_run(self, run: str) -> Lock:
        return self._get(Lock, "/runs/{run}/lock", run=run)

    def build(self, digest: str) -> BuildView:
        """Start to build a lock on the server's machine, unless it is built."""
        return self._post(BuildView, "/locks/{digest}/build", digest=digest)

    def follow_build(self, digest: str, offset: int = 0, wait: float = 0.0) -> BuildView:
        """Return the state of a build and its log from `offset`; wait up to `wait` seconds for news."""
        return self._get(BuildView, "/locks/{digest}/build", {"offset": offset, "wait": wait}, digest=digest)

    def list_built(self) -> Iterator[BuiltView]:
        return self._items(BuiltView, "/built-environments")

    def list_caches(self) -> Iterator[CacheView]:
        return self._items(CacheView, "/environment-caches")

    def clear(self, unused_seconds: float, dry_run: bool = False, caches: Sequence[str] = ()) -> ClearedView:
        """Remove environments that were not used for so long, and the named caches as a whole."""
        body = {"unused_seconds": unused_seconds, "dry_run": dry_run, "caches": list(caches)}
        return self._post(ClearedView, "/built-environments/clear", body)
