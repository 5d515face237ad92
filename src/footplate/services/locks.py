"""Resolved environments, and their builds on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from footplate import environments
from footplate.domain.orders import Cause, Lock
from footplate.domain.records import BuildView, BuiltView, CacheView, ClearedView
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.url_credentials import Logins, extract_logins
from footplate.errors import FootplateError, InvalidInput, NotFound
from footplate.lazy import Deferred
from footplate.services.settings import read_resolver_settings
from footplate.services.topics import BuildChanged, Publish
from footplate.storage import Storage

if TYPE_CHECKING:
    from footplate.environments import built_environments, caches
else:
    # A server that only uses existing interpreters loads no builder.
    caches, built_environments = (
        Deferred(f"footplate.environments.{name}") for name in ("caches", "built_environments")
    )


class LockService:
    def __init__(self, store: Storage, home: Path, publish: Publish) -> None:
        self._store = store
        self._home = home
        self._root = home / "environments"
        self._publish = publish
        self._builds: dict[str, Build] = {}
        self._guard = threading.Lock()

    # ── Locks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def resolve(self, spec: EnvironmentSpec, refresh: bool = False) -> Lock:
        """Return the lock of this content, and store it with the locks of runs."""
        spec, logins = extract_logins(spec)
        self._store.logins.put(logins.by_address)
        lock = environments.resolve(
            spec, read_resolver_settings(self._home, self._store.logins.all()), lambda _line: None, refresh
        )
        self._store.locks.put(lock)
        return lock

    def get(self, digest: str) -> Lock:
        return self._store.locks.get(digest)

    def of_run(self, run: str) -> Lock:
        record = self._store.runs.record(run)
        if record.lock is None:
            raise NotFound(
                f"run {run} has no environment lock",
                "runs have one once their environment is resolved; interactive runs have none",
            )
        return self._store.locks.get(record.lock)

    # ── Built ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def built(self) -> list[BuiltView]:
        """Return the environments that are built on this machine, the most recently used first."""
        busy = {digest for digest, build in self._builds.items() if build.state == "building"}
        busy |= {record.lock for record in self._store.runs.active() if record.lock is not None}
        return [replace(view, in_use=view.digest in busy) for view in built_environments.built(self._root)]

    def build(self, digest: str) -> BuildView:
        """Start a build unless it is running or done; `progress` reports on it."""
        lock = self._store.locks.get(digest)
        with self._guard:
            build = self._builds.get(digest)
            if build is None or build.state != "building":
                logins = Logins(self._store.logins.all()).of(lock)
                self._builds[digest] = Build(lock, self._root, logins, lambda: self._publish(BuildChanged(digest)))
        return self.progress(digest, 0)

    def progress(self, digest: str, offset: int) -> BuildView:
        with self._guard:
            build = self._builds.get(digest)
        if build is None:
            raise NotFound(f"no build of {digest[:12]} was requested", "request one first")
        return build.view(offset)

    def caches(self) -> list[CacheView]:
        return caches.sizes(self._root)

    def clear(self, unused_seconds: float, dry_run: bool, whole: Sequence[str] = ()) -> ClearedView:
        """Remove environments that were not used for this long, except those of active runs. Return what was, or would
        be, removed.

        Removes unused cache entries, and everything in the caches that are named `whole`: environments keep their
        copies, new ones fetch or build the entries again. How much that frees is known only afterwards.
        """
        caches.check(whole)
        if unused_seconds < 0:
            raise InvalidInput(f"unused_seconds is {unused_seconds:g}", "give 0 or more")
        before = time.time() - unused_seconds
        chosen = [view for view in self.built() if not view.in_use and view.used < before]
        if dry_run:
            return ClearedView(tuple(chosen))
        removed = [view for view in chosen if environments.remove(view)]
        reasons = list[str]()
        cleared = caches.clear(self._root, before, whole, reasons.append)
        return ClearedView(tuple(removed), tuple(cleared), reasons[0] if reasons else None)


class Build:
    """A build in its own thread, and its growing log. The server forgets it on exit; the built environment stays."""

    def __init__(self, lock: Lock, root: Path, logins: Logins, changed: Callable[[], None]) -> None:
        self.state = "building"
        self._lock = lock
        self._logins = logins
        self._root = root
        self._changed = changed
        self._text = ""
        self._path: str | None = None
        self._cause: Cause | None = None
        threading.Thread(target=self._work, name=f"build-{lock.digest[:8]}", daemon=True).start()

    def view(self, offset: int) -> BuildView:
        state, text = self.state, self._text  # in this order: the log of an ended build is complete
        return BuildView(self._lock.digest, state, len(text), text[offset:], self._path, self._cause)

    def _say(self, line: str) -> None:
        self._text += line + "\n"
        self._changed()

    def _work(self) -> None:
        state = "failed"
        try:
            builder = environments.load(self._lock.builder)
            self._path = builder.build(self._lock, self._root, self._say, self._logins).argv[0]
            state = "built"
        except FootplateError as error:
            self._cause = Cause("environment_failed", error.message, error.hint)
        except Exception as error:
            self._cause = Cause("internal", f"{type(error).__name__}: {error}", "see: footplate server logs")
        self.state = state
        self._changed()
