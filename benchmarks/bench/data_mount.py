"""The cost of mounted data: reading through a mount, and starting on remote data with few and many files."""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import Options, Report, Row, Target, interleave, wait_for
from bench.homes import WORKSPACE, footplate_home
from bench.machine import temporary_folder
from bench.stamps import SCRIPT, Stamps
from footplate import Dataset, Datastore, Experiment, ScriptRunConfig, Workspace
from footplate.content.blobs import BlobFolder
from footplate.content.listing import Listing, write_listing
from footplate.data.cache import DataCache
from footplate.data.mounts.mount import mount_folder, mount_listing
from footplate.data.mounts.syscalls import is_mounted
from footplate.data.mounts.views import make_view_of_cached
from footplate.data.stores.registry import open_lazily
from footplate.domain.data import Item, StoreSpec
from footplate.domain.requests import NewDataset
from support.web_server import WebServer

IN_PLACE, THROUGH, FUSE = "the folder itself", "footplate, mounted", "footplate, over FUSE"
WITHOUT, VIEW, SERVED, LENT = (
    "no data",
    "as_mount, all of it here",
    "as_mount, over FUSE",
    "as_download, all of it here",
)
NOWHERE = "http://127.0.0.1:9"

CAVEATS = """
Reading: the same large files, read whole in turn through the folder and through the mount (a read-only bind mount as
root, else a link), warm in the page cache. Over FUSE they are read for the first time, so that every byte passes
through our process; the second time the kernel has them.

Starting: from experiment.submit to the first line of the script, as in submit_latency, of runs with and without data in
turn. All files are in the cache, as an earlier run has left them; nothing listens at the store's address, so nothing
could be fetched. Over FUSE one more file is listed, which is not here. The targets are the medians of what a run takes
longer than the one without data before it.

A million: the listing names them, the store's server, which counts what it is asked, has ten. Memory is that of the
process that serves the mount, its own and its share (PSS), after a folder of ten thousand was listed.
"""


def run(options: Options) -> Report:
    report = Report("data_mount", "data at the place where a script reads it", "ms", IN_PLACE, CAVEATS)
    with temporary_folder() as folder:
        _reading(report, folder, options)
        for count, rounds in ((1_000, options.pick(20, 2)), (options.pick(100_000, 10_000), options.pick(14, 2))):
            _starting(report, folder / f"n{count}", count, rounds)
        _a_million(report, folder, options.pick(1_000_000, 100_000), options.pick(5, 1))
    return report


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _reading(report: Report, folder: Path, options: Options) -> None:
    data, cache = folder / "data", DataCache(folder / "cache")
    data.mkdir()
    for number in range(options.pick(8, 2)):
        (data / f"{number}.bin").write_bytes(os.urandom(64 * 2**20))
    seconds: dict[str, list[float]] = {IN_PLACE: [], THROUGH: []}
    with mount_folder(StoreSpec("folder", {"path": str(data)}), "", folder / "mounted", cache) as mount:
        report.check("the mount shows the same files", _digest(data) == _digest(mount.path))
        for number in range(options.pick(21, 3)):
            contestants = [(IN_PLACE, data), (THROUGH, mount.path)]
            for who, where in contestants if number % 2 == 0 else reversed(contestants):
                seconds[who].append(1000 * _timed(lambda where=where: _read(where)))
    report.check("nothing stays mounted", not is_mounted(str(mount.path)))
    seconds[FUSE] = [_read_over_fuse(report, folder, data, cache, str(n)) for n in range(options.pick(5, 2))]
    report.rows += [Row(who, tuple(samples), "reading") for who, samples in seconds.items()]
    ratio = statistics.median(there / here for there, here in zip(seconds[IN_PLACE], seconds[THROUGH], strict=True))
    report.targets.append(Target("reading through a mount, of the speed of the folder", ratio, "×", at_least=0.98))


def _read_over_fuse(report: Report, folder: Path, data: Path, cache: DataCache, number: str) -> float:
    """Return the milliseconds to read everything, from the cache and for the first time."""
    spec = StoreSpec("http", {"url": NOWHERE})
    items = list[Item]()
    for path in sorted(data.iterdir()):
        items.append(Item(path.name, path.stat().st_size, "etag"))
        key = cache.key(open_lazily(spec), items[-1].entry())
        if not cache.has(key):
            cache.keep_bytes(key, path.read_bytes(), sync=False)
    items.append(Item("0-not-here", 1, "etag"))  # otherwise the next mount would be in place
    digest = write_listing(items, str(folder / "listing")).digest
    with mount_listing(str(folder / "listing"), digest, {"": spec}, folder / number, cache, how="fuse") as mount:
        os.listdir(mount.path)  # the serving process has started
        taken = 1000 * _timed(lambda: _read(mount.path, "*.bin"))
        report.check("over FUSE it is the same", _digest(data) == _digest(mount.path, "*.bin"))
    return taken


def _read(folder: Path, pattern: str = "*") -> None:
    for path in sorted(folder.glob(pattern)):
        with path.open("rb", buffering=0) as file:
            while file.read(4 * 2**20):
                pass


def _digest(folder: Path, pattern: str = "*") -> str:
    total = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        total.update(path.read_bytes())
    return total.hexdigest()


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


# ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Site:
    """A workspace with a web site as its datastore, and a script that records when it started."""

    workspace: Workspace
    folder: Path
    url: str

    def __post_init__(self) -> None:
        Datastore.register_web(self.workspace, "site", self.url)
        self.stamps = Stamps(self.folder)
        self.source = self.folder / "source"
        self.source.mkdir()
        shutil.copy(SCRIPT, self.source)
        self.home = self.folder / "home"
        self.cache = DataCache(self.home / "cache" / "data")
        self.store = open_lazily(StoreSpec("http", {"url": self.url}))

    def pin(self, name: str, items: list[Item]) -> tuple[Any, str]:
        """Register a version of a dataset that pins these items, and return it with the path of its listing."""
        made = write_listing([item._replace(store="site") for item in items], str(self.folder / name))
        blobs = BlobFolder(str(self.home / "blobs"))
        blobs.put_file(str(self.folder / name))
        definition = {"sources": [{"datastore": "site", "path": "all"}]}
        new = NewDataset(name, "file", definition, name=name, listing=made.digest)
        self.workspace.session.api.datasets.register(self.workspace.id, new)
        return Dataset.get_by_name(self.workspace, name), blobs.path(made.digest)

    def start(self, *data: Any) -> float:
        """Return the milliseconds to the first line of a run with this data."""

        def submit(stamp: str) -> Callable[[], object]:
            config = ScriptRunConfig(str(self.source), SCRIPT.name, [stamp, *data])
            return Experiment(self.workspace, WORKSPACE).submit(config).wait_for_completion

        return self.stamps.measure(submit)


def _starting(report: Report, folder: Path, count: int, rounds: int) -> None:
    folder.mkdir()
    with footplate_home(folder) as workspace:
        site = Site(workspace, folder, NOWHERE)
        items = _fill(site, count)
        here, path = site.pin("here", items)
        with Listing(path) as listing:
            made = make_view_of_cached(site.cache, os.path.basename(path), listing, {"site": site.store})
        report.check(f"{count} files: all of them are here", made)
        partly, _ = site.pin("partly", [Item("0-not-here", 1, "etag"), *items])
        contestants: dict[str, Callable[[], float]] = {
            WITHOUT: site.start,
            VIEW: lambda: site.start(here.as_named_input("data").as_mount()),
            SERVED: lambda: site.start(partly.as_named_input("data").as_mount()),
            LENT: lambda: site.start(here.as_named_input("data").as_download()),
        }
        for start in contestants.values():
            start()  # warm up
        samples = interleave(rounds, contestants)
    for who, taken in samples.items():
        report.rows.append(Row(f"{count} files: {who}", taken, "submit → first line"))
        if who != WITHOUT:
            over = statistics.median(a - b for a, b in zip(taken, samples[WITHOUT], strict=True))
            report.targets.append(Target(f"{count} files, {who}: over no data", over, "ms", at_most=50))
    report.check(f"{count} files: nothing stays mounted", not _mounts_below(folder))


def _fill(site: Site, count: int) -> list[Item]:
    """Fill the cache with files, as an earlier run would have."""
    items = list[Item]()
    for number in range(count):
        name = f"d{number % 10}/{number:06}"
        items.append(Item(name, len(name), "etag"))
        site.cache.keep_bytes(site.cache.key(site.store, items[-1].entry()), name.encode(), sync=False)
    return items


def _mounts_below(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {folder}/" in line]


# ── A million ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _a_million(report: Report, top: Path, count: int, rounds: int) -> None:
    folder, web = top / "many", WebServer()
    folder.mkdir()
    try:
        with footplate_home(folder) as workspace:
            site = Site(workspace, folder, web.address)
            real = [f"d{number:03}/real" for number in range(10)]
            for name in real:
                web.serve(name, name.encode())
            items = [site.store.stat(name) for name in real]
            listed = [Item(entry.path, entry.size, entry.etag, entry.modified) for entry in items]
            listed += [Item(f"d{number % 100:03}/{number:07}", 1000, f"etag-{number}") for number in range(count)]
            dataset, listing = site.pin("many", listed)
            web.seen.clear()
            site.start()
            taken = interleave(
                rounds, {WITHOUT: site.start, SERVED: lambda: site.start(dataset.as_named_input("data").as_mount())}
            )
            report.check(f"{count} files: requests before the script", not web.seen, len(web.seen))
            memory = _look_into(report, folder, site, listing, web, real)
    finally:
        web.stop()
    over = statistics.median(a - b for a, b in zip(taken[SERVED], taken[WITHOUT], strict=True))
    report.rows += [Row(f"{count} files: {who}", values, "submit → first line") for who, values in taken.items()]
    report.targets.append(Target(f"{count} files, {SERVED}: over no data", over, "ms", at_most=50))
    report.targets.append(Target(f"{count} files: memory of what serves them", memory, "MB", at_most=100))


def _look_into(report: Report, folder: Path, site: Site, listing: str, web: WebServer, real: list[str]) -> float:
    """Return the megabytes of the process that serves the mount, after some folders were listed."""
    spec = StoreSpec("http", {"url": web.address})
    digest = os.path.basename(listing)
    with mount_listing(listing, digest, {"site": spec}, folder / "look", site.cache) as mount:
        report.check("the folders are all there", len(os.listdir(mount.path)) == 100)
        report.check("a folder of them", len(os.listdir(mount.path / "d000")) > 0, len(os.listdir(mount.path / "d000")))
        read = [(mount.path / name).read_text() for name in real]
        report.check("the ten that there are", read == real)
        report.check("requests for ten files", len(web.seen) == 10, len(web.seen))
        return wait_for("the process that serves", lambda: _memory_of_who_maps(listing))


def _memory_of_who_maps(path: str) -> float | None:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) != os.getpid() and path in (process / "maps").read_text():
                lines = (process / "smaps_rollup").read_text().splitlines()
                return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        except OSError:
            continue
    return None
