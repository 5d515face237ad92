from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.content.listing import write_listing
from footplate.data.cache import DataCache
from footplate.data.inputs import InputData, mount_input
from footplate.data.mounts import mount as mounts
from footplate.data.mounts.mount import adopt, mount_folder, mount_listing, sweep
from footplate.data.mounts.syscalls import is_mounted, unmount
from footplate.data.mounts.views import view_name
from footplate.data.stores.base import SMALL
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec, place
from footplate.errors import Broken, Conflict, NotFound
from footplate.testing.waiting import check_stays, wait_until
from support.web_server import WebServer

needs_fuse = pytest.mark.skipif(not mounts.has_fuse() or os.geteuid() != 0, reason="needs FUSE")
PATIENCE = 60.0


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[DataCache]:
    made = DataCache(tmp_path / "cache")
    yield made
    left = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(tmp_path) in line]
    for point in left:
        unmount(point)
    assert not left, "something was left mounted"
    wait_until(lambda: not processes_with(str(tmp_path)))


def processes_with(text: str) -> list[int]:
    found = list[int]()
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and text.encode() in (entry / "maps").read_bytes() + (entry / "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


class Site:
    """Files of a web server, and their listing."""

    def __init__(self, web: WebServer, folder: Path, files: dict[str, bytes]) -> None:
        self.web, self.files = web, files
        self.stores = {"": StoreSpec("http", {"url": web.address})}
        for name, data in files.items():
            web.serve(name, data)
        store = open_store(self.stores[""])
        self.listing = str(folder / "listing")
        self.digest = write_listing([place(store.stat(name), name) for name in files], self.listing).digest
        web.seen.clear()

    def mount(self, at: Path, cache: DataCache, **options: object) -> mounts.Mount:
        return mount_listing(self.listing, self.digest, self.stores, at, cache, **options)  # type: ignore[arg-type]


@pytest.fixture
def site(web: WebServer, tmp_path: Path) -> Site:
    files = {"a.txt": b"alpha", "deep/er/b": os.urandom(100_000), "deep/c": b"", "big": os.urandom(3 * SMALL + 7)}
    return Site(web, tmp_path, files)


def read_all(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_local_folder_is_shown_in_place(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "data" / "x" / "file").write_text("content")
    with mount_folder(StoreSpec("folder", {"path": str(tmp_path / "data")}), "x", tmp_path / "m", cache) as mount:
        assert (mount.path / "file").read_text() == "content"
        assert os.stat(mount.path / "file").st_ino == os.stat(tmp_path / "data/x/file").st_ino, "the data was copied"
        if os.geteuid() == 0:
            with pytest.raises(OSError, match="Read-only"):
                (mount.path / "new").write_text("not here")
    assert not (tmp_path / "m").exists()
    mount.close()
    assert (tmp_path / "data" / "x" / "file").read_text() == "content"


def test_a_local_file_is_shown_in_place(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "one").write_text("content")
    with mount_folder(StoreSpec("folder", {"path": str(tmp_path)}), "one", tmp_path / "m" / "one", cache) as mount:
        assert mount.path.read_text() == "content"
    assert not (tmp_path / "m" / "one").exists()


def test_showing_a_file_leaves_no_folder_behind(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "x.csv").write_text("x")
    stores = {"s": StoreSpec("folder", {"path": str(tmp_path)})}
    wanted = InputData({"sources": [{"datastore": "s", "path": "x.csv"}]}, stores)
    for before in (False, True):
        at = tmp_path / "at"
        if before:
            at.mkdir()
        shown = mount_input(wanted, str(at), str(tmp_path / "scratch"), cache)
        assert shown.path == at / "x.csv" and shown.path.read_text() == "x"
        shown.close()
        assert at.exists() is before


def test_a_mount_point_in_use_is_refused(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "mine").touch()
    spec = StoreSpec("folder", {"path": str(tmp_path)})
    with pytest.raises(Conflict, match="not an empty folder"):
        mount_folder(spec, "", tmp_path / "m", cache)
    with pytest.raises(NotFound, match="nowhere"):
        mount_folder(spec, "nowhere", tmp_path / "n", cache)
    assert os.listdir(tmp_path / "m") == ["mine"]


@needs_fuse
def test_remote_files_are_fetched_as_they_are_read(tmp_path: Path, cache: DataCache, site: Site) -> None:
    with site.mount(tmp_path / "m", cache, how="fuse") as mount:
        assert not site.web.seen, "a request was sent before the first read"
        assert sorted(os.listdir(mount.path)) == ["a.txt", "big", "deep"]
        assert (mount.path / "big").stat().st_size == len(site.files["big"])
        assert not site.web.seen, "listing a folder read files"
        assert (mount.path / "a.txt").read_bytes() == b"alpha"
        assert not site.web.asked("big")
        with (mount.path / "big").open("rb") as file:
            file.seek(2 * SMALL)
            assert file.read(10) == site.files["big"][2 * SMALL : 2 * SMALL + 10]
        assert read_all(mount.path) == site.files
        with pytest.raises(OSError, match="Read-only"):
            (mount.path / "a.txt").write_text("not here")
        with pytest.raises(FileNotFoundError):
            (mount.path / "nothing").read_text()
    assert not (tmp_path / "m").exists()


@needs_fuse
def test_a_second_run_finds_all_files_cached(tmp_path: Path, cache: DataCache, site: Site) -> None:
    with site.mount(tmp_path / "m", cache) as mount:
        assert read_all(mount.path) == site.files
    wait_until(lambda: os.path.isdir(f"{cache.folder}/views/{view_name(site.digest, site.stores)}"))
    site.web.files.clear()
    with site.mount(tmp_path / "m", cache) as mount:
        assert f" {mount.path} fuse" not in Path("/proc/mounts").read_text()
        assert read_all(mount.path) == site.files


def test_without_fuse_everything_is_fetched_first(tmp_path: Path, cache: DataCache, site: Site) -> None:
    seen = list[tuple[int, int]]()
    with site.mount(
        tmp_path / "m", cache, how="fetch", report=lambda now: seen.append((now.files, now.bytes))
    ) as mount:
        assert seen[-1] == (4, sum(len(data) for data in site.files.values()))
        site.web.files.clear()
        assert read_all(mount.path) == site.files
    with site.mount(tmp_path / "m", cache, how="fetch") as mount:
        assert read_all(mount.path) == site.files


def listed(root: Path, listing: Path) -> tuple[str, str, dict[str, StoreSpec]]:
    """Write the listing of a local folder; return its file, its digest and the store."""
    spec = StoreSpec("folder", {"path": str(root)})
    items = [place(entry, entry.path) for page in open_store(spec).list() for entry in page]
    return str(listing), write_listing(items, str(listing)).digest, {"": spec}


def test_moved_local_files_are_found_at_their_new_place(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "old/deep").mkdir(parents=True)
    (tmp_path / "old/deep/a.txt").write_text("a")
    with mount_listing(*listed(tmp_path / "old", tmp_path / "listing"), tmp_path / "m", cache) as mount:
        assert read_all(mount.path) == {"deep/a.txt": b"a"}
    (tmp_path / "old").rename(tmp_path / "new")
    again = listed(tmp_path / "new", tmp_path / "again")
    assert Path(again[0]).read_bytes() == (tmp_path / "listing").read_bytes(), "the listings must be equal"
    with mount_listing(*again, tmp_path / "m", cache) as mount:
        assert read_all(mount.path) == {"deep/a.txt": b"a"}


def test_a_missing_local_file_is_named_even_with_a_view(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "data/deep").mkdir(parents=True)
    gone = tmp_path / "data/deep/a.txt"
    gone.write_text("a")
    about = listed(tmp_path / "data", tmp_path / "listing")
    mount_listing(*about, tmp_path / "m", cache).close()
    gone.unlink()
    with pytest.raises(NotFound, match=str(gone)):
        mount_listing(*about, tmp_path / "m", cache)
    assert not (tmp_path / "m").exists()


def test_folders_of_a_view_are_read_only_until_it_is_removed(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "data/deep").mkdir(parents=True)
    (tmp_path / "data/deep/a.txt").write_text("a")
    mount_listing(*listed(tmp_path / "data", tmp_path / "listing"), tmp_path / "m", cache).close()
    (view,) = (path for path in Path(cache.folder, "views").iterdir() if path.is_dir())
    assert [os.stat(folder).st_mode & 0o777 for folder in (view, view / "deep")] == [0o555, 0o555]
    cache.evict(0)
    assert not view.exists(), "views of local files use no cache space, but must be removed too"
    assert (tmp_path / "data/deep/a.txt").exists()


@needs_fuse
def test_a_failed_read_is_explained_in_problems(tmp_path: Path, cache: DataCache, site: Site) -> None:
    with site.mount(tmp_path / "m", cache) as mount:
        del site.web.files["a.txt"]
        with pytest.raises(OSError, match="Input/output error"):
            (mount.path / "a.txt").read_bytes()
        (words,) = mount.problems()
        assert words.startswith("/a.txt: http://") and "; hint: " in words


@needs_fuse
def test_messages_of_libfuse_are_not_reported_as_problems(tmp_path: Path, cache: DataCache, site: Site) -> None:
    """Debian 12's libfuse warns about its own number of threads."""
    with site.mount(tmp_path / "m", cache, how="fuse") as mount:
        assert read_all(mount.path) == site.files
        assert mount.problems() == []


@needs_fuse
def test_a_damaged_listing_is_an_error_before_the_mount(tmp_path: Path, cache: DataCache, site: Site) -> None:
    Path(site.listing).write_text("no listing\n")
    with pytest.raises(Broken, match="not a complete listing"):
        site.mount(tmp_path / "m", cache, how="fuse")
    assert not (tmp_path / "m").exists()


OWNER = """
import sys, time, json
from footplate.data.cache import DataCache
from footplate.data.mounts.mount import mount_listing
from footplate.domain.data import StoreSpec
cache, listing, digest, url, at = sys.argv[1:]
mount = mount_listing(listing, digest, {"": StoreSpec("http", {"url": url})}, at, DataCache(cache))
mount.guard([int(line) for line in sys.stdin.readline().split()])
print(mount.record, flush=True)
time.sleep(600)
"""


def start_owner(site: Site, cache: DataCache, at: Path, *guards: int) -> tuple[subprocess.Popen[str], str]:
    argv = [sys.executable, "-c", OWNER, cache.folder, site.listing, site.digest, site.web.address, str(at)]
    owner = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdin is not None and owner.stdout is not None
    owner.stdin.write(" ".join(map(str, guards)) + "\n")
    owner.stdin.flush()
    return owner, owner.stdout.readline().strip()


def is_gone(point: Path) -> bool:
    return not is_mounted(str(point)) and not os.path.exists(point)


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def family(record: str) -> list[int]:
    """Return the supervisor and its serving child; nobody reaps them."""
    found = list[int]()
    wait_until(lambda: found.extend(look_for_family(record)) or found)
    return found


def look_for_family(record: str) -> list[int]:
    for entry in Path("/proc").iterdir():
        try:
            held = [os.readlink(link) for link in (entry / "fd").iterdir()] if entry.name.isdigit() else []
        except OSError:
            continue
        if f"{record}/supervisor.lock" in held and int(entry.name) != os.getpid():
            pids = [int(child) for child in Path(f"/proc/{entry.name}/task/{entry.name}/children").read_text().split()]
            if pids:
                return [int(entry.name), *pids]
    return []


@needs_fuse
def test_a_killed_owner_leaves_no_mount(tmp_path: Path, cache: DataCache, site: Site) -> None:
    owner, record = start_owner(site, cache, tmp_path / "m")
    assert is_mounted(str(tmp_path / "m"))
    end(owner)
    wait_until(lambda: is_gone(tmp_path / "m") and not os.path.exists(record))


@needs_fuse
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_supervisor_or_server_leaves_no_mount(
    tmp_path: Path, cache: DataCache, site: Site, victim: int
) -> None:
    owner, record = start_owner(site, cache, tmp_path / "m")
    os.kill(family(record)[victim], signal.SIGKILL)
    wait_until(lambda: not is_mounted(str(tmp_path / "m")))
    end(owner)
    sweep(cache)


@needs_fuse
def test_leftovers_of_simultaneous_kills_are_swept(tmp_path: Path, cache: DataCache, site: Site) -> None:
    owner, record = start_owner(site, cache, tmp_path / "m")
    pids = family(record)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGKILL)
    end(owner)
    wait_until(lambda: sweep(cache) or not os.path.exists(record))
    assert not is_mounted(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


@needs_fuse
def test_a_mount_survives_its_owner_while_a_guard_reads(tmp_path: Path, cache: DataCache, site: Site) -> None:
    reader = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    owner, record = start_owner(site, cache, tmp_path / "m", reader.pid)
    end(owner)
    assert (tmp_path / "m" / "a.txt").read_bytes() == b"alpha"
    mount = adopt(record)
    assert mount is not None
    end(reader)
    # Longer than the supervisor waits between two looks.
    check_stays(lambda: (tmp_path / "m" / "deep/er/b").read_bytes() == site.files["deep/er/b"], seconds=0.7)
    mount.close()
    wait_until(lambda: not is_mounted(str(tmp_path / "m")))
    assert adopt(record) is None


@needs_fuse
def test_a_mount_ends_with_its_last_guard(tmp_path: Path, cache: DataCache, site: Site) -> None:
    reader = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    owner, _ = start_owner(site, cache, tmp_path / "m", reader.pid)
    end(owner)
    assert (tmp_path / "m" / "a.txt").read_bytes() == b"alpha"
    end(reader)
    wait_until(lambda: is_gone(tmp_path / "m"))


def test_a_writable_mount_leaves_the_cache_unchanged(tmp_path: Path, cache: DataCache, site: Site) -> None:
    for number in range(2):
        lent = mounts.mount_writable(
            site.listing, site.digest, site.stores, tmp_path / "m", str(tmp_path / f"changes{number}"), cache
        )
        if lent is None:
            pytest.skip("needs permission to mount")
        with lent:
            assert read_all(lent.path) == site.files
            (lent.path / "a.txt").write_text("changed")
            (lent.path / "deep/c").unlink()
            (lent.path / "deep/er").rename(lent.path / "elsewhere")
            assert (lent.path / "a.txt").read_text() == "changed"
            site.web.files.clear()
        assert not (tmp_path / "m").exists()
    for path in Path(cache.folder, "objects").glob("*/*"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name


@pytest.mark.skipif(os.geteuid() != 0, reason="needs permission to mount")
def test_a_late_supervisor_does_not_touch_newer_mounts(tmp_path: Path, cache: DataCache) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("alpha")
    with mount_folder(StoreSpec("folder", {"path": str(tmp_path / "data")}), "", tmp_path / "m", cache) as mount:
        record = tmp_path / "record"  # its owner has closed it while its supervisor was still starting
        record.mkdir()
        task = json.dumps({"record": str(record), "at": str(mount.path), "view": None})
        argv = [sys.executable, "-m", "footplate.data.mounts.supervisor"]
        subprocess.run(argv, input=task + "\n", text=True, check=True, timeout=PATIENCE)
        assert (mount.path / "a.txt").read_text() == "alpha"
        assert not record.exists()


def test_local_data_has_no_writable_mount(tmp_path: Path, cache: DataCache, site: Site) -> None:
    stores = {**site.stores, "here": StoreSpec("folder", {"path": str(tmp_path)})}
    assert mounts.mount_writable(site.listing, site.digest, stores, tmp_path / "m", str(tmp_path / "c"), cache) is None
    (tmp_path / "m").mkdir()
    assert (
        mounts.mount_writable(site.listing, site.digest, site.stores, tmp_path / "m", str(tmp_path / "c"), cache)
        is None
    )
    assert not site.web.seen
