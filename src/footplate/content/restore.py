"""Restore a snapshot as a directory or as a zip file."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Callable, Generator, Set

from footplate.content.manifest import EXECUTABLE, FILE, FOLDER, LINK, ManifestEntry, parse_manifest
from footplate.disk import CHUNK, atomic_file
from footplate.errors import Broken, InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    import zipfile
else:
    zipfile = Deferred("zipfile")  # an agent restores directories only

Fetch = Callable[[str, str, bool], None]
"""`fetch(digest, path, executable)` writes a blob to a path that does not exist yet."""

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the same snapshot gives the same zip
_ZIP_TYPES = {FILE: stat.S_IFREG, LINK: stat.S_IFLNK, FOLDER: stat.S_IFDIR}
_ZIP_FOLDER = 0x10  # the MS-DOS attribute
_BIG = 2**31 - 1


def materialize(manifest: bytes, fetch: Fetch, target: str) -> None:
    """Write the snapshot into the directory `target`, which is created if needed.

    Repeating it after an interruption gives the same result: existing files are replaced. Links come last.
    """
    entries = parse_manifest(manifest)
    os.makedirs(target, exist_ok=True)
    existing: Set[str] = {""}
    for entry in sorted(entries, key=lambda each: each.type == LINK):
        _make_folders(target, entry.path if entry.type == FOLDER else entry.path.rpartition("/")[0], existing)
        if entry.type == FOLDER:
            continue
        place = f"{target}/{entry.path}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        if entry.type == LINK:
            os.symlink(entry.content, place)
        else:
            with _naming(entry):
                fetch(entry.content, place, entry.mode == EXECUTABLE)
            _check_size(entry, os.stat(place).st_size)


def _check_size(entry: ManifestEntry, size: int) -> None:
    if size != entry.size:
        message = f"the manifest says that {entry.path!r} has {entry.size} bytes, and its content has {size}"
        raise InvalidInput(message, "this manifest was not written by Footplate: take the snapshot again")


@contextlib.contextmanager
def _naming(entry: ManifestEntry) -> Generator[None, None, None]:
    try:
        yield
    except Broken as error:
        message = f"the stored content of {entry.path!r} is damaged: {error.message}"
        raise Broken(message, error.hint, **error.details) from None


def _make_folders(target: str, path: str, existing: Set[str]) -> None:
    if path in existing:
        return
    _make_folders(target, path.rpartition("/")[0], existing)
    place = f"{target}/{path}"
    try:
        os.mkdir(place)
    except FileExistsError:
        if os.path.islink(place) or not os.path.isdir(place):  # never write through a link that somebody left there
            os.unlink(place)
            os.mkdir(place)
    existing.add(path)


def zip_to(manifest: bytes, open_blob: Callable[[str], BinaryIO], zip_path: str) -> None:
    """Write the snapshot to a zip file, with executable bits and links, whole or not at all."""
    entries = parse_manifest(manifest)
    with atomic_file(zip_path, durable=False) as out, open(out, "wb", closefd=False) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry in entries:
                _add(archive, entry, open_blob)


def _add(archive: zipfile.ZipFile, entry: ManifestEntry, open_blob: Callable[[str], BinaryIO]) -> None:
    # Names in zip files are UTF-8; other bytes are shown as \xff.
    name = os.fsencode(entry.path).decode("utf-8", "backslashreplace")
    info = zipfile.ZipInfo(name + "/" if entry.type == FOLDER else name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix: the upper half of the attributes is a mode
    info.external_attr = (_ZIP_TYPES[entry.type] | entry.mode) << 16 | (_ZIP_FOLDER if entry.type == FOLDER else 0)
    if entry.type != FILE:
        archive.writestr(info, os.fsencode(entry.content))
        return
    with _naming(entry):
        opened = open_blob(entry.content)
    with opened as source, archive.open(info, "w", force_zip64=entry.size > _BIG) as target:
        size = sum(target.write(chunk) for chunk in iter(lambda: source.read(CHUNK), b""))
    _check_size(entry, size)
