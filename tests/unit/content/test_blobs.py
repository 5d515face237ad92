from __future__ import annotations

import hashlib
import os
import stat
import threading

import pytest

from footplate.content.blobs import BlobFolder, hash_file
from footplate.errors import Broken, InvalidInput, NotFound

DATA = b"the content" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def blobs(tmp_path):
    return BlobFolder(str(tmp_path / "blobs"))


def all_files(blobs: BlobFolder) -> list[str]:
    return sorted(name for _, _, names in os.walk(blobs.root) for name in names)


def test_a_blob_is_named_by_its_digest_and_read_only(blobs):
    assert blobs.put_bytes(DATA) == DIGEST
    path = os.path.join(blobs.root, DIGEST[:2], DIGEST)
    assert blobs.path(DIGEST) == path
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o444
    with blobs.open(DIGEST) as file:
        assert file.read() == DATA
    assert blobs.size(DIGEST) == len(DATA)
    assert all_files(blobs) == [DIGEST]


def test_a_blob_that_exists_is_not_written_again(blobs, tmp_path):
    blobs.put_bytes(DATA)
    inode = os.stat(blobs.path(DIGEST)).st_ino
    (tmp_path / "same").write_bytes(DATA)
    assert blobs.put_bytes(DATA) == DIGEST
    assert blobs.put_file(str(tmp_path / "same")) == (DIGEST, len(DATA))
    blobs.put_stream(DIGEST, iter([DATA]))
    assert os.stat(blobs.path(DIGEST)).st_ino == inode
    assert all_files(blobs) == [DIGEST]


@pytest.mark.parametrize("digest", ["", "ab", "../" * 20 + "e" * 4, "G" * 64, "A" * 64, "a" * 63 + "\n", DIGEST + "/"])
def test_an_invalid_digest_never_becomes_a_path(blobs, digest):
    for use in (
        blobs.path,
        blobs.has,
        blobs.open,
        lambda d: blobs.put_stream(d, [b""]),
        lambda d: blobs.copy_to(d, "x"),
    ):
        with pytest.raises(InvalidInput, match="is not a digest"):
            use(digest)


def test_a_missing_blob_is_not_found(blobs, tmp_path):
    for use in (blobs.open, blobs.size, blobs.verify, lambda d: blobs.copy_to(d, str(tmp_path / "copy"))):
        with pytest.raises(NotFound, match=DIGEST):
            use(DIGEST)
    assert not (tmp_path / "copy").exists()
    assert blobs.missing({DIGEST}) == {DIGEST}


def test_a_stream_with_another_digest_leaves_nothing(blobs):
    with pytest.raises(InvalidInput, match=DIGEST) as refused:
        blobs.put_stream(DIGEST, [DATA[:-1]])
    assert refused.value.hint
    assert all_files(blobs) == []


def test_a_stream_that_breaks_leaves_nothing(blobs):
    def broken():
        yield DATA
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        blobs.put_stream(DIGEST, broken())
    assert all_files(blobs) == []


def test_the_digest_of_a_growing_file_is_that_of_the_stored_bytes(blobs, tmp_path):
    growing = tmp_path / "growing"
    growing.write_bytes(b"")

    def grow():
        with growing.open("ab", buffering=0) as file:
            for _ in range(50):
                file.write(os.urandom(5000))

    for _ in range(20):
        writer = threading.Thread(target=grow)
        writer.start()
        digest, size = blobs.put_file(str(growing))
        blobs.verify(digest)
        assert blobs.size(digest) == size
        writer.join()


def test_a_known_digest_saves_reading_the_file(blobs, tmp_path):
    blobs.put_bytes(DATA)
    (tmp_path / "f").write_bytes(b"something else by now")
    assert blobs.put_file(str(tmp_path / "f"), DIGEST)[0] == DIGEST
    other = hashlib.sha256(b"absent").hexdigest()
    actual = hashlib.sha256(b"something else by now").hexdigest()
    assert blobs.put_file(str(tmp_path / "f"), other) == (actual, 21), "the stored bytes count, not the expected ones"


def test_moving_renames_the_file(blobs, tmp_path):
    source = tmp_path / "output"
    source.write_bytes(DATA)
    inode = source.stat().st_ino
    assert blobs.put_file(str(source), move=True) == (DIGEST, len(DATA))
    assert not source.exists()
    assert os.stat(blobs.path(DIGEST)).st_ino == inode
    assert stat.S_IMODE(os.stat(blobs.path(DIGEST)).st_mode) == 0o444


def test_adopting_keeps_the_name_and_can_be_repeated(blobs, tmp_path):
    source = tmp_path / "output"
    source.write_bytes(DATA)
    for _ in range(2):
        assert blobs.adopt(str(source)) == (DIGEST, len(DATA))
    assert source.read_bytes() == DATA
    assert source.stat().st_ino == os.stat(blobs.path(DIGEST)).st_ino
    assert all_files(blobs) == [DIGEST]


def test_a_file_with_other_hard_links_is_copied(blobs, tmp_path):
    (tmp_path / "one").write_bytes(DATA)
    os.link(tmp_path / "one", tmp_path / "two")
    blobs.put_file(str(tmp_path / "two"), move=True)
    (tmp_path / "one").write_bytes(b"changed")
    blobs.verify(DIGEST)
    assert not (tmp_path / "two").exists()


def test_moving_a_symlink_copies_its_target(blobs, tmp_path):
    (tmp_path / "real").write_bytes(DATA)
    (tmp_path / "link").symlink_to("real")
    assert blobs.put_file(str(tmp_path / "link"), move=True)[0] == DIGEST
    assert (tmp_path / "real").read_bytes() == DATA
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("count", [3, 100])  # synced one by one, and the file system at once
def test_many_files_are_stored_at_once(blobs, tmp_path, count):
    for number in range(count):
        (tmp_path / str(number)).write_text(str(number % 90))
    stored = blobs.put_files([(str(tmp_path / str(number)), None) for number in range(count)])
    assert stored == [(hashlib.sha256(str(n % 90).encode()).hexdigest(), len(str(n % 90))) for n in range(count)]
    for digest, _ in stored:
        blobs.verify(digest)
    assert len(all_files(blobs)) == len({digest for digest, _ in stored})


def test_one_bad_file_among_many_leaves_nothing(blobs, tmp_path):
    (tmp_path / "good").write_bytes(DATA)
    with pytest.raises(FileNotFoundError):
        blobs.put_files([(str(tmp_path / "good"), None), (str(tmp_path / "absent"), None)])
    assert all_files(blobs) == []


@pytest.mark.parametrize("executable", [False, True])
def test_a_copy_is_writable(blobs, tmp_path, executable):
    blobs.put_bytes(DATA)
    target = tmp_path / "copy"
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    target.symlink_to("elsewhere")
    blobs.copy_to(DIGEST, str(target), executable)
    assert not target.is_symlink()
    assert target.read_bytes() == DATA
    assert bool(target.stat().st_mode & 0o100) == executable
    target.write_bytes(b"mine")
    blobs.verify(DIGEST)
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"


def damage(blobs: BlobFolder, content: bytes) -> None:
    os.chmod(blobs.path(DIGEST), 0o644)
    with open(blobs.path(DIGEST), "wb") as file:
        file.write(content)


@pytest.mark.parametrize("content", [DATA + b"!", DATA[:-1], b"", b"X" + DATA[1:]])
@pytest.mark.parametrize("use", ["verify", "open", "read", "checked_path", "copy_to"])
def test_a_damaged_blob_is_set_aside_and_healed_by_the_next_upload(blobs, tmp_path, use, content):
    blobs.put_bytes(DATA)
    damage(blobs, content)
    arguments = (DIGEST, str(tmp_path / "copy")) if use == "copy_to" else (DIGEST,)
    for _ in range(2):  # found, and asked for again
        with pytest.raises(Broken, match=DIGEST) as refused:
            getattr(blobs, use)(*arguments)
        assert "again" in (refused.value.hint or "")
    assert blobs.missing({DIGEST}) == {DIGEST}
    assert not (tmp_path / "copy").exists()
    with open(os.path.join(blobs.root, ".damaged", DIGEST), "rb") as file:
        assert file.read() == content
    (tmp_path / "source").write_bytes(DATA)
    assert blobs.put_file(str(tmp_path / "source"), DIGEST) == (DIGEST, len(DATA))
    blobs.copy_to(DIGEST, str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == DATA


def test_a_large_damaged_blob_never_arrives_whole(blobs):
    data = os.urandom(1 << 20) * 65
    digest = blobs.put_bytes(data)
    assert b"".join(blobs.read(digest)) == data
    os.chmod(blobs.path(digest), 0o644)
    with open(blobs.path(digest), "r+b") as file:
        file.write(b"wrong")
    received = 0
    with pytest.raises(Broken, match=digest):
        for piece in blobs.read(digest):
            received += len(piece)
    assert received < len(data)
    assert not blobs.has(digest)


def test_threads_can_store_the_same_blob(blobs):
    threads = [threading.Thread(target=blobs.put_bytes, args=(bytes([n % 5]) * 100_000,)) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(all_files(blobs)) == 5
    for digest in all_files(blobs):
        blobs.verify(digest)


def test_sweeping_removes_only_old_temporary_files(blobs):
    blobs.put_bytes(DATA)
    aside = os.path.join(blobs.root, ".aside")
    with open(os.path.join(aside, "young"), "wb"):
        pass
    blobs.sweep()
    assert all_files(blobs) == [DIGEST, "young"]
    blobs.sweep(older_than=-1)
    assert all_files(blobs) == [DIGEST]


def test_hash_file_returns_digest_and_size(tmp_path):
    (tmp_path / "f").write_bytes(DATA)
    assert hash_file(str(tmp_path / "f")) == (DIGEST, len(DATA))


def test_damaged_blobs_that_were_stored_again_are_removed(blobs):
    os.makedirs(os.path.join(blobs.root, ".damaged"))
    healed, lost = blobs.put_bytes(b"healed"), "ab" * 32
    for digest in (healed, lost):
        with open(os.path.join(blobs.root, ".damaged", digest), "wb") as file:
            file.write(b"wrong")
    blobs.clear_damage()
    assert os.listdir(os.path.join(blobs.root, ".damaged")) == [lost]
    assert blobs.has_lost_blobs()


def test_a_blob_is_removed_unless_it_was_used_since(blobs):
    blobs.put_bytes(DATA)
    stored = os.stat(blobs.path(DIGEST)).st_ctime
    assert not blobs.remove(DIGEST, unused_since=stored)
    assert blobs.remove(DIGEST, unused_since=stored + 1)
    assert not blobs.remove(DIGEST, unused_since=stored + 1), "it is gone"
    assert all_files(blobs) == []


def test_asking_for_an_old_blob_renews_its_time(blobs):
    blobs.put_bytes(DATA)
    os.utime(blobs.path(DIGEST), (1, 1))
    assert blobs.has(DIGEST)
    assert os.stat(blobs.path(DIGEST)).st_mtime == 1, "it was stored a moment ago"
    assert BlobFolder(blobs.root, renew_seconds=-60).has(DIGEST)
    assert os.stat(blobs.path(DIGEST)).st_mtime > 1


def test_all_blobs_are_walked(blobs):
    blobs.put_bytes(DATA)
    os.makedirs(os.path.join(blobs.root, ".damaged"))
    assert [(digest, info.st_size) for digest, info in blobs.walk()] == [(DIGEST, len(DATA))]
    assert list(BlobFolder(blobs.root + "-none").walk()) == []
