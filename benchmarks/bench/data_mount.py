"""What mounted data costs: reading local data through a mount, and starting on remote data that is here already."""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Options, Report, Row, Target
from bench.machine import temporary_folder
from footplate.content.listing import Listing, write_listing
from footplate.data import Cache, mount_folder, mount_listing
from footplate.data.stores import open_later
from footplate.data.sysmount import is_mounted
from footplate.data.views import make_view_of_cached
from footplate.domain.data import Item, StoreSpec

IN_PLACE, THROUGH = "the folder itself", "footplate, mounted"

CAVEATS = """
Reading: the same large files, warm in the page cache, read whole in turn through the folder and through the mount (a
read-only bind mount as root, else a link).

Starting: a listing of files that are all in the cache, from the call that mounts to the moment at which a script could
be started: what a run with data takes longer than one without. No server runs, so nothing could be fetched. `over FUSE`
is the same without the folder that a run which has read everything leaves behind.
"""


def run(options: Options) -> Report:
    report = Report("data_mount", "data at the place where a script reads it", "ms", IN_PLACE, CAVEATS)
    with temporary_folder() as folder:
        _reading(report, folder, options)
        for count in (1_000, options.pick(100_000, 10_000)):
            _starting(report, folder / f"n{count}", count, options.pick(15, 3))
    return report


def _reading(report: Report, folder: Path, options: Options) -> None:
    data = folder / "data"
    data.mkdir()
    for number in range(options.pick(8, 2)):
        (data / f"{number}.bin").write_bytes(os.urandom(64 * 2**20))
    spec = StoreSpec("folder", {"path": str(data)})
    seconds: dict[str, list[float]] = {IN_PLACE: [], THROUGH: []}
    with mount_folder(spec, "", folder / "mounted", Cache(folder / "cache")) as mount:
        report.check("the mount shows the same files", _digest(data) == _digest(mount.path))
        for number in range(options.pick(21, 3)):
            contestants = [(IN_PLACE, data), (THROUGH, mount.path)]
            for who, where in contestants if number % 2 == 0 else reversed(contestants):
                seconds[who].append(1000 * _timed(lambda where=where: _read(where)))
    report.check("nothing stays mounted", not is_mounted(str(mount.path)))
    report.rows += [Row(who, tuple(samples), "reading") for who, samples in seconds.items()]
    ratio = statistics.median(seconds[IN_PLACE]) / statistics.median(seconds[THROUGH])
    report.targets.append(Target("reading through a mount, of the speed of the folder", ratio, "×", at_least=0.98))


def _starting(report: Report, folder: Path, count: int, rounds: int) -> None:
    folder.mkdir()
    spec = StoreSpec("http", {"url": "http://127.0.0.1:9"})
    cache, stores = Cache(folder / "cache"), {"": spec}
    digest = _fill(cache, spec, folder / "listing", count)
    samples: dict[str, list[float]] = {"over FUSE": [], "in place": []}
    for how in samples:
        if how == "in place":
            with Listing(str(folder / "listing")) as listing:
                made = make_view_of_cached(cache, digest, listing, {"": open_later(spec)})
            report.check(f"{count} files: all of them are here", made)
        for number in range(rounds):
            begin = time.perf_counter()
            mount = mount_listing(str(folder / "listing"), digest, stores, folder / f"m{number}{how[0]}", cache)
            samples[how].append(1000 * (time.perf_counter() - begin))
            name = f"d{number % 10}/{number:06}"
            report.check(f"{count} files, {how}: it is what is mounted", (mount.path / name).read_text() == name)
            mount.close()
        if how == "over FUSE":
            time.sleep(2 + count / 20_000)  # what the keeper does afterwards is not to be in the figures of the next
    for how, taken in samples.items():
        report.rows.append(Row(f"footplate, {count} files {how}", tuple(taken), "starting"))
    median = statistics.median(samples["in place"])
    report.targets.append(Target(f"start on {count} cached remote files", median, "ms", at_most=50))


def _fill(cache: Cache, spec: StoreSpec, listing: Path, count: int) -> str:
    """A cache that holds `count` files, as an earlier run would have left it."""
    store, items = open_later(spec), list[Item]()
    for number in range(count):
        name = f"d{number % 10}/{number:06}"
        items.append(Item(name, len(name), "etag"))
        cache.keep_bytes(cache.key(store, items[-1].entry()), name.encode(), sync=False)
    return write_listing(items, str(listing)).digest


def _read(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        with path.open("rb", buffering=0) as file:
            while file.read(4 * 2**20):
                pass


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.read_bytes())
    return total.hexdigest()


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin
