"""Scan a source directory, compare it with the last scan, and store it as blobs and one manifest."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import Dict, Generator, Iterator, List, Optional, Protocol, Sequence, Set, Tuple

from footplate.content.blobs import hash_file
from footplate.content.git import GitIndex
from footplate.content.ignore import IgnoreRules, rules_for
from footplate.content.manifest import EXECUTABLE, FILE, FOLDER, LINK, PLAIN, ManifestEntry, to_manifest
from footplate.content.stat_cache import NOBODY, Scanned, Seen, Stamp, StatCache, WatchedFolder
from footplate.content.walk import Walk, links_of, stamp_of
from footplate.errors import InvalidInput


class SnapshotStore(Protocol):
    """The destination of a tree; `BlobFolder` is one."""

    def vouches_for(self, manifest: str) -> bool: ...

    def missing(self, digests: Set[str]) -> Set[str]: ...

    def put_files(self, files: Sequence[Tuple[str, Optional[str]]]) -> List[Tuple[str, int]]:
        """Store files given as (path, expected digest or None); return what was really stored, in the same order."""
        ...

    def put_bytes(self, data: bytes) -> str: ...


class SourceTree:
    """A scanned directory. Files that nothing vouches for have no digest until they are stored or hashed."""

    def __init__(
        self,
        folder: str,
        rules: IgnoreRules,
        seen: Seen,
        notices: Sequence[str],
        cache: StatCache,
        watcher: GitIndex,
    ) -> None:
        self.folder = folder
        self._watcher = watcher
        self._rules = rules.key
        self._seen = seen
        self._cache = cache
        self._notices = tuple(notices)
        is_same = cache.rules == rules.key and cache.seen == seen
        self._is_as_remembered = is_same and cache.notices == self._notices
        self._digest = cache.manifest if is_same else None
        self._known: Optional[Dict[str, str]] = None
        self._sizes: Dict[str, int] = {}
        self._changing: Set[str] = set()  # files that were written to while they were read

    @property
    def digest(self) -> str:
        """The snapshot's id. For an unchanged directory it is known; otherwise unknown files are read."""
        return self._digest or hashlib.sha256(self.manifest()).hexdigest()

    @property
    def news(self) -> List[str]:
        """Notices about entries left out or copied that the last scan of this directory did not have."""
        return [notice for notice in self._notices if notice not in self._cache.notices]

    @property
    def is_known(self) -> bool:
        """Whether `digest` costs nothing."""
        return self._digest is not None

    @property
    def known(self) -> Dict[str, str]:
        """The digests of files that have not changed since they were last read."""
        if self._known is None:
            stamps = dict(self._files())
            before = {folder + name: what for folder, names in self._cache.seen.items() for name, what in names.items()}
            digests = self._cache.digests()
            self._known = {path: digest for path, digest in digests.items() if before[path] == stamps.get(path)}
        return self._known

    @property
    def entries(self) -> List[ManifestEntry]:
        """Return the rows of the manifest, sorted; a file with an unknown digest has no content yet."""
        digests = self.known
        entries: List[ManifestEntry] = []
        for path, stamp in self._files():
            mode = EXECUTABLE if stamp[0] & 0o100 else PLAIN
            entries.append(ManifestEntry(path, FILE, mode, self._sizes.get(path, stamp[1]), digests.get(path, "")))
        entries += [ManifestEntry(path, LINK, PLAIN, 0, target) for path, target in links_of(self._seen).items()]
        full = {folder[:-1].rpartition("/")[0] for folder in self._seen}
        entries += [
            ManifestEntry(folder[:-1], FOLDER, EXECUTABLE, 0, "")
            for folder, names in self._seen.items()
            if folder and not names and folder[:-1] not in full
        ]
        return sorted(entries)

    def locate(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def sizes(self, folders: Sequence[str] = ("",)) -> Dict[str, int]:
        """Return the sizes of the files in some directories, or of all files, by path."""
        tops = tuple(f"{folder}/" if folder else "" for folder in folders)
        return {
            above + name: what[1]
            for above, names in self._seen.items()
            if above.startswith(tops)
            for name, what in names.items()
            if isinstance(what, tuple)
        }

    def unknown(self) -> List[str]:
        """Return the paths of the files that must be read."""
        digests = self.known
        return [path for path, _ in self._files() if path not in digests]

    def settle(self, path: str, digest: str, size: int) -> None:
        """Record the digest and size of a file that was read."""
        self.known[path] = digest
        self._sizes[path] = size
        self._digest = None
        self._is_as_remembered = False
        if not self._is_still(path):
            self._changing.add(path)

    def manifest(self) -> bytes:
        """Return the manifest; unknown files are read."""
        hash_unknown(self)
        manifest = to_manifest(self.entries)
        self._digest = hashlib.sha256(manifest).hexdigest()
        return manifest

    def remember(self) -> None:
        """Save the result for the next scan."""
        if self._is_as_remembered and self._watcher.is_known:
            return
        watch = self._watch()
        if not self._is_as_remembered or watch != NOBODY:
            saved = Scanned(self._rules, self.digest, self._notices)
            self._cache.save(saved, self._seen, self.known, self._changing, watch)

    def _watch(self) -> WatchedFolder:
        """Return the files that the next scan need not look at; of those watched before, all that have not changed."""
        if not self._watcher.is_known:
            return self._watcher.learn(self._seen, self._cache.began_ns)
        before, others = self._cache.seen, self._cache.others
        return WatchedFolder(
            self._cache.index,
            {
                folder: [
                    name
                    for name, what in names.items()
                    if name in others.get(folder, ()) or what != before.get(folder, {}).get(name)
                ]
                for folder, names in self._seen.items()
                if folder in others or names != before.get(folder)
            },
        )

    def _is_still(self, path: str) -> bool:
        """Whether the file is still as the scan found it."""
        at = path.rfind("/") + 1
        try:
            return stamp_of(os.stat(self.locate(path))) == self._seen[path[:at]][path[at:]]
        except OSError:
            return False

    def _files(self) -> Iterator[Tuple[str, Stamp]]:
        for folder, names in self._seen.items():
            for name, what in names.items():
                if isinstance(what, tuple):
                    yield folder + name, what


# ── Scan ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def scan(
    folder: str,
    rules: Optional[IgnoreRules] = None,
    cache: Optional[StatCache] = None,
    home: Optional[str] = None,
) -> SourceTree:
    """Scan `folder` without the files that `rules` exclude (by default its own ignore file). No file is read.

    `home` is Footplate's own home, which is left out.
    """
    top = os.path.abspath(folder)
    rules = rules_for(top) if rules is None else rules
    cache = StatCache(None) if cache is None else cache
    # Paths that the same rules included last time need not be matched again.
    knows = cache.rules == rules.key
    with GitIndex(top, cache.index if knows else None) as watcher:
        walk = Walk(top, rules, cache.seen if knows else {}, home)
        walk.enter("")
        walk.look_again(watcher.to_look_at(cache.others))
    walk.copy_outer_links()
    return SourceTree(top, rules, walk.seen, walk.notices, cache, watcher)


# ── Store ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def store(tree: SourceTree, blobs: SnapshotStore) -> str:
    """Store everything that the store lacks, and return the snapshot's id.

    The manifest is stored last, so an existing manifest vouches for its files, unless blobs were found damaged. Every
    file is hashed while it is copied: the manifest describes the bytes that were stored, even if somebody writes to the
    directory at the same time.
    """
    if tree.is_known and blobs.vouches_for(tree.digest):
        tree.remember()
        return tree.digest
    lacking = blobs.missing(set(tree.known.values()))
    paths = tree.unknown() + _holders(tree, lacking)
    while paths:
        with _explain_unreadable():
            stored = blobs.put_files([(tree.locate(path), tree.known.get(path)) for path in paths])
        for path, (digest, size) in zip(paths, stored):
            tree.settle(path, digest, size)
        lacking -= {digest for digest, _ in stored}
        paths = _holders(tree, lacking)  # again only for files whose shared content is no longer there
    digest = blobs.put_bytes(tree.manifest())
    tree.remember()
    return digest


def hash_unknown(tree: SourceTree) -> None:
    """Read the files with unknown digests, for a store that must be asked before anything is sent to it."""
    with _explain_unreadable():
        for path in tree.unknown():
            tree.settle(path, *hash_file(tree.locate(path)))


def _holders(tree: SourceTree, digests: Set[str]) -> List[str]:
    """One path for each of the digests that a file has."""
    return list({digest: path for path, digest in tree.known.items() if digest in digests}.values())


@contextlib.contextmanager
def _explain_unreadable() -> Generator[None, None, None]:
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        why = "was removed while the snapshot was taken" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise InvalidInput(
            f"{error.filename!r} {why}", "make it readable, or add it to .amlignore, and try again"
        ) from None
