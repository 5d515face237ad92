"""A folder as a tree of content: scanned against what is remembered of it, stored as blobs and one manifest, laid out again.

The manifest is the format of ARCHITECTURE.md; its sha256 is the snapshot's id. A manifest may come from an enemy, so
whatever reads one goes through `parse_manifest`.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import stat
import zipfile
from typing import Any, BinaryIO, Callable, Dict, List, NamedTuple, Optional, Tuple, cast

from footplate.content.blobs import BlobFolder
from footplate.content.ignore import IgnoreRules, rules_for
from footplate.content.statcache import Stamp, StatCache, stamp_of
from footplate.errors import InvalidInput

FILE, FOLDER, LINK = "f", "d", "l"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """One row of a manifest. `content` is a file's digest or a link's target; empty for a folder."""

    path: str
    type: str
    mode: int
    size: int
    content: str


class Tree:
    """A scanned folder. Files whose content is not known yet have an empty digest until they are stored or hashed."""

    def __init__(self, folder: str, entries: List[Entry], stamps: Dict[str, Stamp], cache: StatCache) -> None:
        self.folder = folder
        self.entries = entries
        self._stamps = stamps
        self._cache = cache
        self._digest: Optional[str] = cache.manifest_of(entries)

    def path(self, entry: Entry) -> str:
        return os.path.join(self.folder, entry.path)

    def unknown(self) -> List[int]:
        """Positions of the files that must be read."""
        return [at for at, entry in enumerate(self.entries) if entry.type == FILE and not entry.content]

    def set_content(self, at: int, digest: str, size: int) -> None:
        self.entries[at] = self.entries[at]._replace(content=digest, size=size)
        self._digest = None

    def manifest(self) -> bytes:
        rows = [[e.path, e.type, e.mode, e.size, e.content] for e in self.entries]
        return json.dumps({"entries": rows, "format": 1}, sort_keys=True, separators=(",", ":")).encode("ascii")

    @property
    def digest(self) -> str:
        if self._digest is None:
            self._digest = hashlib.sha256(self.manifest()).hexdigest()
        return self._digest

    def remember(self) -> None:
        """Keep what was learnt for the next scan."""
        known = {e.path: e.content for e in self.entries if e.type == FILE and e.content}
        self._cache.save(self.entries, {p: (self._stamps[p], known[p]) for p in known}, self.digest)


# ── Scan ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def scan(folder: str, rules: Optional[IgnoreRules] = None, cache: Optional[StatCache] = None) -> Tree:
    """What is in `folder` now. No file is read; those that the cache vouches for have their digest."""
    top = os.path.abspath(folder)
    rules = rules or rules_for(top)
    cache = cache or StatCache(None)
    known = cache.files
    entries: List[Entry] = []
    stamps: Dict[str, Stamp] = {}
    todo = [""]
    while todo:
        above = todo.pop()
        kept = 0
        for item in _listed(top, above):
            path = above + item.name
            if item.is_dir(follow_symlinks=False):
                if not rules.excludes(path, True):
                    todo.append(path + "/")
                    kept += 1
                continue
            if rules.excludes(path, False):
                continue
            kept += 1
            if item.is_symlink():
                entries.append(Entry(path, LINK, 0o644, 0, _link_inside(top, path)))
                continue
            info = item.stat(follow_symlinks=False)
            if not stat.S_ISREG(info.st_mode):
                raise InvalidInput(
                    f"{os.path.join(top, path)!r} is not a file, a folder or a link",
                    "remove it, or name it in .amlignore",
                )
            stamp = stamps[path] = stamp_of(info)
            before = known.get(path)
            digest = before[1] if before is not None and before[0] == stamp else ""
            entries.append(Entry(path, FILE, 0o755 if info.st_mode & 0o100 else 0o644, info.st_size, digest))
        if not kept and above:
            entries.append(Entry(above[:-1], FOLDER, 0o755, 0, ""))
    entries.sort()
    return Tree(top, entries, stamps, cache)


def _listed(top: str, above: str) -> List[os.DirEntry[str]]:
    folder = os.path.join(top, above)
    try:
        with os.scandir(folder) as items:
            return list(items)
    except FileNotFoundError:
        if not above:
            raise InvalidInput(f"there is no folder {top}", "check the path of the source folder") from None
        return []  # removed while we looked
    except PermissionError:
        raise InvalidInput(f"the folder {folder!r} cannot be read", "allow it, or name it in .amlignore") from None


def _link_inside(top: str, path: str) -> str:
    """The target of a link that stays inside the folder."""
    target = os.readlink(os.path.join(top, path))
    if _escapes(path, target):
        raise InvalidInput(
            f"the link {path!r} leads out of the folder, to {target!r}",
            "copy what it points to into the folder, or name the link in .amlignore",
        )
    return target


def _escapes(path: str, target: str) -> bool:
    if target.startswith("/") or not target or "\0" in target:
        return True
    landed = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return landed == ".." or landed.startswith("../")


# ── Store ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def store(tree: Tree, blobs: BlobFolder) -> str:
    """Put what the store lacks into it and return the snapshot's id.

    A manifest is stored after all that it names, so one that is there vouches for the rest.
    """
    if not tree.unknown() and blobs.has(tree.digest):
        return tree.digest
    wanted = [at for at, e in enumerate(tree.entries) if e.type == FILE and not (e.content and blobs.has(e.content))]
    stored = blobs.put_files([(tree.path(tree.entries[at]), None) for at in wanted])
    for at, (digest, size) in zip(wanted, stored):
        tree.set_content(at, digest, size)
    blobs.put_bytes(tree.manifest())
    tree.remember()
    return tree.digest


def hash_unknown(tree: Tree) -> None:
    """Read the files that nobody vouches for; for a store that is not on this machine."""
    for at in tree.unknown():
        hasher, size = hashlib.sha256(), 0
        with open(tree.path(tree.entries[at]), "rb") as source:
            for chunk in iter(lambda: source.read(1 << 20), b""):
                hasher.update(chunk)
                size += len(chunk)
        tree.set_content(at, hasher.hexdigest(), size)


# ── Read a manifest ───────────────────────────────────────────────────────────────────────────────────────────────────


def parse_manifest(manifest: bytes) -> List[Entry]:
    """The rows of a manifest, each checked: nothing in it can reach outside the folder it is laid out in."""
    try:
        document = json.loads(manifest)
        rows = cast("List[List[Any]]", document["entries"])
        entries = [Entry(*row) for row in rows]
        if document["format"] != 1:
            raise ValueError("format")
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput(f"this is not a manifest of a snapshot ({error})", "take the snapshot again") from None
    seen: Dict[str, str] = {}
    for entry in entries:
        _check(entry)
        if entry.path in seen:
            raise InvalidInput(f"the manifest names {entry.path!r} twice", "take the snapshot again")
        seen[entry.path] = entry.type
    for entry in entries:
        above = posixpath.dirname(entry.path)
        while above:
            if above in seen and seen[above] != FOLDER:
                raise InvalidInput(
                    f"{entry.path!r} lies below {above!r}, which is no folder", "take the snapshot again"
                )
            above = posixpath.dirname(above)
    return entries


def _check(entry: Entry) -> None:
    kinds = (isinstance(entry.path, str), isinstance(entry.content, str), isinstance(entry.size, int))  # type: ignore[redundant-expr]  # pyright: ignore
    fine = all(kinds) and entry.type in (FILE, FOLDER, LINK) and entry.mode in (0o644, 0o755)
    parts = entry.path.split("/") if fine else [""]
    if not fine or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise InvalidInput(f"{entry.path!r} is not a path inside a folder", "take the snapshot again")
    if entry.type == FILE and not _DIGEST.fullmatch(entry.content):
        raise InvalidInput(f"{entry.path!r} has no digest", "take the snapshot again")
    if entry.type == LINK and _escapes(entry.path, entry.content):
        raise InvalidInput(f"the link {entry.path!r} leads out of the folder", "take the snapshot again")


# ── Lay out ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def materialize(manifest: bytes, fetch: Callable[[str, str, bool], None], target: str) -> None:
    """Lay the snapshot out in `target`; `fetch(digest, path, executable)` writes one file that is not there yet.

    Again after an interruption is the same: what lies there is replaced. Links come last, so nothing is written through one.
    """
    entries = parse_manifest(manifest)
    made = {""}
    os.makedirs(target, exist_ok=True)
    for entry in sorted(entries, key=lambda e: e.type == LINK):
        place = os.path.join(target, entry.path)
        above = entry.path if entry.type == FOLDER else posixpath.dirname(entry.path)
        if above not in made:
            os.makedirs(os.path.join(target, above), exist_ok=True)
            made.add(above)
        if entry.type == FOLDER:
            continue
        if os.path.lexists(place):
            os.unlink(place)
        if entry.type == LINK:
            os.symlink(entry.content, place)
        else:
            fetch(entry.content, place, entry.mode == 0o755)


def zip_to(manifest: bytes, open_blob: Callable[[str], BinaryIO], path: str) -> None:
    """The snapshot as a zip file, executable bits and links included."""
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry in parse_manifest(manifest):
                _add_to_zip(archive, entry, open_blob)
        os.replace(aside, path)
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


_ZIP_TIME: Tuple[int, int, int, int, int, int] = (1980, 1, 1, 0, 0, 0)
_ZIP_TYPES = {FILE: stat.S_IFREG, LINK: stat.S_IFLNK, FOLDER: stat.S_IFDIR}


def _add_to_zip(archive: zipfile.ZipFile, entry: Entry, open_blob: Callable[[str], BinaryIO]) -> None:
    name = os.fsencode(entry.path).decode("utf-8", "replace") + ("/" if entry.type == FOLDER else "")
    info = zipfile.ZipInfo(name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (_ZIP_TYPES[entry.type] | entry.mode) << 16
    if entry.type != FILE:
        archive.writestr(info, os.fsencode(entry.content) if entry.type == LINK else b"")
        return
    with open_blob(entry.content) as source, archive.open(info, "w", force_zip64=True) as target:
        for chunk in iter(lambda: source.read(1 << 20), b""):
            target.write(chunk)
