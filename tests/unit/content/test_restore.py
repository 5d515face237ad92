from __future__ import annotations

import os
import stat
import zipfile

import pytest

from footplate.content.blobs import BlobFolder
from footplate.content.manifest import ManifestEntry, to_manifest
from footplate.content.restore import materialize, zip_to
from footplate.errors import Broken, InvalidInput


@pytest.fixture
def blobs(tmp_path):
    return BlobFolder(str(tmp_path / "blobs"))


@pytest.fixture
def manifest(blobs):
    return to_manifest(
        [
            ManifestEntry("a/b/tool", "f", 0o755, 4, blobs.put_bytes(b"tool")),
            ManifestEntry("a/link", "l", 0o644, 0, "b"),
            ManifestEntry("empty", "d", 0o755, 0, ""),
            ManifestEntry("odd \udcff", "f", 0o644, 3, blobs.put_bytes(b"odd")),
        ]
    )


def test_restoring_twice_gives_the_same_folder(manifest, blobs, tmp_path):
    target = tmp_path / "out"
    for _ in range(2):
        materialize(manifest, blobs.copy_to, str(target))
        assert (target / "a" / "link" / "tool").read_bytes() == b"tool"
        assert os.access(target / "a" / "b" / "tool", os.X_OK)
        assert os.readlink(target / "a" / "link") == "b"
        assert list((target / "empty").iterdir()) == []
        assert (target / os.fsdecode(b"odd \xff")).read_bytes() == b"odd"
        (target / "a" / "b" / "tool").write_bytes(b"changed by the run")


def test_nothing_is_written_through_an_existing_link(manifest, blobs, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "outside")
    materialize(manifest, blobs.copy_to, str(tmp_path / "out"))
    assert list((tmp_path / "outside").iterdir()) == []
    assert (tmp_path / "out" / "a" / "b" / "tool").read_bytes() == b"tool"


def test_a_hostile_manifest_writes_nothing(blobs, tmp_path):
    evil = to_manifest(
        [ManifestEntry("x", "f", 0o644, 0, blobs.put_bytes(b"")), ManifestEntry("../evil", "f", 0o644, 0, "a" * 64)]
    )
    for use in (
        lambda: materialize(evil, blobs.copy_to, str(tmp_path / "out")),
        lambda: zip_to(evil, blobs.open, str(tmp_path / "out.zip")),
    ):
        with pytest.raises(InvalidInput, match="evil"):
            use()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.zip").exists()


def test_a_zip_keeps_bits_links_and_empty_folders(manifest, blobs, tmp_path):
    zip_to(manifest, blobs.open, str(tmp_path / "s.zip"))
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.testzip() is None
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        assert archive.read("a/b/tool") == b"tool"
        assert archive.read("a/link") == b"b"
        assert archive.read("odd \\xff") == b"odd"
    assert modes["a/b/tool"] == stat.S_IFREG | 0o755
    assert stat.S_ISLNK(modes["a/link"])
    assert stat.S_ISDIR(modes["empty/"])


def test_the_same_snapshot_gives_the_same_zip(manifest, blobs, tmp_path):
    for name in ("one", "two"):
        zip_to(manifest, blobs.open, str(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_zip_that_fails_leaves_the_old_one(blobs, tmp_path):
    (tmp_path / "s.zip").write_bytes(b"old")
    broken = to_manifest([ManifestEntry("x", "f", 0o644, 1, "a" * 64)])
    with pytest.raises(Exception, match="no blob"):
        zip_to(broken, blobs.open, str(tmp_path / "s.zip"))
    assert (tmp_path / "s.zip").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["s.zip"]


def test_the_error_names_the_file_whose_content_is_damaged(manifest, blobs, tmp_path):
    path = blobs.path(blobs.put_bytes(b"tool"))
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"fool")
    for use in (
        lambda: materialize(manifest, blobs.copy_to, str(tmp_path / "out")),
        lambda: zip_to(manifest, blobs.open, str(tmp_path / "out.zip")),
    ):
        with pytest.raises(Broken, match="'a/b/tool'"):
            use()
    assert not (tmp_path / "out" / "a" / "b" / "tool").exists()
    assert not (tmp_path / "out.zip").exists()


@pytest.mark.parametrize("size", [0, 4, 6])
def test_a_manifest_with_a_wrong_size_is_refused(blobs, tmp_path, size):
    wrong = to_manifest([ManifestEntry("x.txt", "f", 0o644, size, blobs.put_bytes(b"12345"))])
    for restore in (
        lambda: materialize(wrong, blobs.copy_to, str(tmp_path / "out")),
        lambda: zip_to(wrong, blobs.open, str(tmp_path / "out.zip")),
    ):
        with pytest.raises(InvalidInput, match=f"'x.txt' has {size} bytes, and its content has 5"):
            restore()
    assert not (tmp_path / "out.zip").exists()
