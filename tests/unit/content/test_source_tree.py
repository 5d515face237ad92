from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from footplate.content.blobs import BlobFolder, hash_file
from footplate.content.ignore import IgnoreRules
from footplate.content.manifest import ManifestEntry, parse_manifest
from footplate.content.restore import materialize
from footplate.content.source_tree import hash_unknown, scan, store
from footplate.content.stat_cache import StatCache
from footplate.content.walk import MOST_COPIED
from footplate.errors import Broken, InvalidInput

HOUR_NS = 3600 * 10**9


@pytest.fixture
def source(tmp_path):
    root = tmp_path / "source"
    (root / "pkg" / "sub").mkdir(parents=True)
    (root / "empty" / "inside").mkdir(parents=True)
    (root / "train.py").write_text("print(1)")
    (root / "pkg" / "run.sh").write_text("#!/bin/sh")
    (root / "pkg" / "run.sh").chmod(0o755)
    (root / "pkg" / "sub" / "data").write_bytes(b"\0" * 5000)
    (root / "pkg" / "again").write_text("print(1)")
    (root / "link").symlink_to("pkg/sub")
    (root / "pkg" / "up").symlink_to("../train.py")
    with open(os.path.join(os.fsencode(root), b"odd \xff\n\"'$x"), "wb") as file:
        file.write(b"odd")
    return root


@pytest.fixture
def blobs(tmp_path):
    return BlobFolder(str(tmp_path / "blobs"))


class Reading(BlobFolder):
    """A store that records which files were read."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.stored: list[str] = []

    def put_files(self, files):
        self.stored += [os.path.basename(path) for path, _ in files]
        return super().put_files(files)


def remembered(tmp_path, source, later_ns: int = HOUR_NS) -> StatCache:
    """Return the cache as it will be when the files of this test are old enough to be trusted."""
    return StatCache.for_folder(str(tmp_path / "cache"), str(source), time.time_ns() + later_ns)


def shape(root) -> dict:
    found = {}
    for above, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(above, name)
            info = os.lstat(path)
            link = os.readlink(path) if os.path.islink(path) else None
            content = None if link or os.path.isdir(path) else Path(os.fsdecode(path)).read_bytes()
            found[os.path.relpath(path, os.fsencode(root))] = (link, content, bool(info.st_mode & 0o100) and not link)
    return found


def test_a_folder_is_restored_as_it_was(source, blobs, tmp_path):
    snapshot = store(scan(str(source)), blobs)
    with blobs.open(snapshot) as file:
        materialize(file.read(), blobs.copy_to, str(tmp_path / "out"))
    assert shape(tmp_path / "out") == shape(source)
    assert len(shape(source)) == 11


def test_the_manifest_has_the_documented_format(source, blobs):
    tree = scan(str(source))
    snapshot = store(tree, blobs)
    with blobs.open(snapshot) as file:
        entries = parse_manifest(file.read())
    assert snapshot == tree.digest
    by_path = {entry.path: entry for entry in entries}
    assert by_path["empty/inside"] == ManifestEntry("empty/inside", "d", 0o755, 0, "")
    assert "empty" not in by_path and "pkg" not in by_path
    assert by_path["link"] == ManifestEntry("link", "l", 0o644, 0, "pkg/sub")
    assert by_path["pkg/run.sh"].mode == 0o755
    assert by_path["train.py"].mode == 0o644
    assert by_path["train.py"].content == by_path["pkg/again"].content
    assert by_path["pkg/sub/data"].size == 5000
    assert [entry.path for entry in entries] == sorted(by_path)


def test_the_id_depends_only_on_content_names_and_modes(source, blobs, tmp_path):
    snapshot = store(scan(str(source)), blobs)
    with blobs.open(snapshot) as file:
        materialize(file.read(), blobs.copy_to, str(tmp_path / "twin"))
    assert scan(str(tmp_path / "twin")).digest == snapshot
    (tmp_path / "twin" / "train.py").chmod(0o755)
    assert scan(str(tmp_path / "twin")).digest != snapshot


def test_unchanged_files_are_not_read_again(source, tmp_path):
    first, second, third = (Reading(str(tmp_path / name)) for name in ("b1", "b1", "b2"))
    snapshot = store(scan(str(source), cache=remembered(tmp_path, source)), first)
    assert len(first.stored) == 5
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert tree.is_known
    assert store(tree, second) == snapshot
    assert second.stored == []
    assert store(scan(str(source), cache=remembered(tmp_path, source)), third) == snapshot
    assert len(third.stored) == 4, "another store lacks them all, but two have the same content"


def test_only_the_changed_file_is_read(source, tmp_path):
    store(scan(str(source), cache=remembered(tmp_path, source)), Reading(str(tmp_path / "b")))
    (source / "train.py").write_text("print(2)")
    blobs = Reading(str(tmp_path / "b"))
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert not tree.is_known
    snapshot = store(tree, blobs)
    assert blobs.stored == ["train.py"]
    assert snapshot == scan(str(source)).digest


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "new").write_text("x"),
        lambda root: (root / "train.py").unlink(),
        lambda root: (root / "train.py").chmod(0o755),
        lambda root: (root / "train.py").rename(root / "trained.py"),
        lambda root: (root / "empty" / "inside").rmdir(),
        lambda root: (root / "nothing").mkdir(),
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("pkg")),
        lambda root: ((root / "train.py").unlink(), (root / "train.py").mkdir()),
        lambda root: ((root / "link").unlink(), (root / "link").write_text("")),
        lambda root: (root / ".amlignore").write_text("*.py"),
    ],
)
def test_every_change_is_seen_through_the_cache(source, blobs, tmp_path, change):
    before = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    change(source)
    after = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    assert after != before
    assert after == scan(str(source)).digest


def test_a_file_changed_just_before_it_was_read_is_not_trusted(source, tmp_path):
    """Its times may be the same after the next change."""
    blobs = Reading(str(tmp_path / "b"))
    store(scan(str(source), cache=remembered(tmp_path, source, later_ns=0)), blobs)
    times = (source / "train.py").stat()
    (source / "train.py").write_text("print(3)")
    os.utime(source / "train.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert store(tree, blobs) == scan(str(source)).digest


class Meddling(BlobFolder):
    """A store that changes the source folder while it works."""

    def __init__(self, root: str, meddle) -> None:
        super().__init__(root)
        self.meddle = meddle

    def put_files(self, files):
        self.meddle(before=True)
        stored = super().put_files(files)
        self.meddle(before=False)
        return stored


@pytest.mark.parametrize("before", [True, False])
def test_the_manifest_describes_the_stored_bytes(source, tmp_path, before):
    def meddle(**now):
        if now["before"] == before:
            (source / "train.py").write_text("print('changed meanwhile')")

    blobs = Meddling(str(tmp_path / "b"), meddle)
    snapshot = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    with blobs.open(snapshot) as file:
        for entry in parse_manifest(file.read()):
            if entry.type == "f":
                blobs.verify(entry.content)
                assert blobs.size(entry.content) == entry.size
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert "train.py" in tree.unknown(), "a file that changed is read again next time"
    assert tree.digest == scan(str(source)).digest


def test_shared_content_that_vanished_is_read_from_another_file(source, tmp_path):
    """Both files were known to have it, the store lacks it, and the first file has changed."""
    cache = remembered(tmp_path, source)
    hash_unknown(tree := scan(str(source), cache=cache))
    tree.remember()

    def meddle(before):
        if before and not os.path.exists(tmp_path / "done"):
            (source / "train.py").write_text("other")
            (source / "pkg" / "again").write_text("print(1)")
            (tmp_path / "done").touch()

    blobs = Meddling(str(tmp_path / "b"), meddle)
    snapshot = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    with blobs.open(snapshot) as file:
        assert all(blobs.has(entry.content) for entry in parse_manifest(file.read()) if entry.type == "f")


def test_the_error_names_a_file_that_vanished(source, tmp_path):
    blobs = Meddling(str(tmp_path / "b"), lambda before: before and (source / "train.py").unlink(missing_ok=True))
    with pytest.raises(InvalidInput, match=r"train\.py.*removed") as refused:
        store(scan(str(source)), blobs)
    assert refused.value.hint


def test_the_error_names_a_link_to_a_folder_outside(source, tmp_path):
    (tmp_path / "outside").mkdir()
    (source / "bad").symlink_to("../outside")
    with pytest.raises(
        InvalidInput, match=r"'bad' leads out of the folder, to '\.\./outside', which is a folder"
    ) as no:
        scan(str(source))
    assert ".amlignore" in str(no.value.hint)
    assert scan(str(source), IgnoreRules(b"bad", False)).digest


def test_the_error_names_a_link_to_a_large_file_outside(source, tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MOST_COPIED + 1)
    (source / "bad").symlink_to(tmp_path / "large")
    with pytest.raises(InvalidInput, match=r"'bad' leads out of the folder, .* a file of 64 MB"):
        scan(str(source))


@pytest.mark.parametrize("through", ["", "pkg/inner"])
def test_a_file_outside_is_copied_in_place_of_its_link(source, blobs, tmp_path, through):
    (tmp_path / "shared.py").write_text("x = 1")
    (source / "link.py").symlink_to(tmp_path / "shared.py")
    if through:
        (source / through).symlink_to("../link.py")
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert tree.news[0] == (
        f"the link link.py leads out of the folder: the snapshot holds a copy of {tmp_path / 'shared.py'}"
    )
    with blobs.open(store(tree, blobs)) as manifest:
        materialize(manifest.read(), blobs.copy_to, str(tmp_path / "copy"))
    copy = tmp_path / "copy" / (through or "link.py")
    assert copy.read_text() == "x = 1"
    assert not copy.is_symlink()

    (tmp_path / "shared.py").write_text("x = 22")
    again = scan(str(source), cache=remembered(tmp_path, source))
    assert again.news == [], "reported once"
    assert again.digest != tree.digest


@pytest.mark.parametrize("ignore", [None, ".gitignore", ".amlignore"])
def test_python_environments_and_the_home_are_left_out(source, tmp_path, ignore):
    for name, file in ((".venv", "pyvenv.cfg"), ("envs/conda", "conda-meta/history"), ("home", "footplate.db")):
        (source / name / file).parent.mkdir(parents=True)
        (source / name / file).touch()
    (source / ".venv" / "python").symlink_to("/usr/bin/env")
    for name in ("node_modules", "pkg/__pycache__", ".git"):
        (source / name).mkdir()
        (source / name / "x").touch()
    if ignore:
        (source / ignore).write_text("*.log\n!node_modules/\n")
    tree = scan(str(source), cache=remembered(tmp_path, source), home=str(source / "home"))
    kept = {entry.path for entry in tree.entries}
    assert not {path for path in kept if path.startswith((".venv", "envs/conda", "home"))}
    has = {path for path in ("node_modules/x", "pkg/__pycache__/x", ".git/x") if path in kept}
    assert (
        has
        == {
            None: set(),
            ".gitignore": {"node_modules/x"},
            ".amlignore": {"node_modules/x", "pkg/__pycache__/x", ".git/x"},
        }[ignore]
    )
    named = {None: [".git", "__pycache__", "node_modules"], ".gitignore": [".git", "__pycache__"], ".amlignore": []}
    always = [".venv (a Python environment)", "envs/conda (a Python environment)", "home (Footplate's home)"]
    assert tree.news == ["left out of the snapshot: " + ", ".join(sorted([*named[ignore], *always]))]


def test_a_folder_that_becomes_an_environment_is_left_out(source, blobs, tmp_path):
    store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    (source / "pkg" / "pyvenv.cfg").touch()
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert tree.news == ["left out of the snapshot: pkg (a Python environment)"]
    assert not [entry.path for entry in tree.entries if entry.path.startswith("pkg")]


def test_ignored_folders_are_not_entered(source):
    (source / "secret").mkdir(mode=0o000)
    try:
        entries = scan(str(source), IgnoreRules(b"secret/\npkg/sub\n", False)).entries
    finally:
        (source / "secret").chmod(0o755)
    assert [e.path for e in entries if e.path.startswith(("secret", "pkg/sub"))] == []


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(InvalidInput, match="does not exist"):
        scan(str(tmp_path / "absent"))


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_cache_counts_as_empty(source, blobs, tmp_path, damage):
    snapshot = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    (path,) = (tmp_path / "cache").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content) if damage is None else damage)
    tree = scan(str(source), cache=remembered(tmp_path, source))
    assert not tree.is_known
    assert len(tree.unknown()) == 5
    assert store(tree, blobs) == snapshot
    assert scan(str(source), cache=remembered(tmp_path, source)).is_known


def test_a_cache_that_cannot_be_written_is_ignored(source, blobs, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert store(scan(str(source), cache=remembered(tmp_path, source)), blobs)


def test_storing_a_known_folder_again_heals_a_damaged_file(source, blobs, tmp_path):
    snapshot = store(scan(str(source), cache=remembered(tmp_path, source)), blobs)
    path = blobs.path(hash_file(str(source / "train.py"))[0])
    os.chmod(path, 0o644)
    Path(path).write_text("print(2)")
    with blobs.open(snapshot) as file:
        manifest = file.read()
    with pytest.raises(Broken, match="again"):
        materialize(manifest, blobs.copy_to, str(tmp_path / "out"))
    assert store(scan(str(source), cache=remembered(tmp_path, source)), blobs) == snapshot
    materialize(manifest, blobs.copy_to, str(tmp_path / "out"))
    assert shape(tmp_path / "out") == shape(source)
