"""Large files that nodes upload straight to an object store: real stores, the agent's code and the server's."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreEntry, StoreSpec
from footplate.domain.records import FileView
from footplate.domain.replies import DirectUpload
from footplate.errors import Broken, InvalidInput, NotFound, Unavailable
from footplate.node.delivery import direct_upload
from footplate.services.artifacts.object_blobs import ObjectBlobs, part_size_of
from footplate.services.files import check_content
from footplate.storage import Storage
from footplate.storage.upkeep.verification import Verification

MIB = 1 << 20
SIZE = 33 * MIB  # two whole parts and a short one


class DirectServer:
    """The server as an agent sees it. It goes away, or the agent is killed, after so many answers."""

    def __init__(self, home: Path, spec: StoreSpec) -> None:
        self.storage = Storage.open(home)
        self.storage.datastores.lie_in(spec)
        self.objects = ObjectBlobs(self.storage, home)
        self.asked: list[int] = []  # the number of parts in each answer

    def upload_directly(self, digest: str, size: int) -> DirectUpload:
        plan = self.objects.upload(digest, size)
        self.asked.append(len(plan.parts))
        return plan

    def place(self) -> Any:
        spec = self.storage.datastores.artifacts()
        assert spec is not None
        return open_store(spec)

    def listed(self) -> list[StoreEntry]:
        return sorted(entry for page in self.place().list() for entry in page)


@pytest.fixture(params=["rclone", "azurite"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    server = DirectServer(tmp_path / "home", request.getfixturevalue(request.param).new_store())
    yield server
    server.storage.close()


@pytest.fixture
def output(tmp_path: Path) -> str:
    path = tmp_path / "model.bin"
    path.write_bytes(os.urandom(MIB) * (SIZE // MIB))
    return str(path)


def digest_of(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_large_file_reaches_the_store_and_is_read_back(server: DirectServer, output: str, tmp_path: Path) -> None:
    said: list[str] = []
    digest, size, is_stored = direct_upload.send(server, output, said.append)
    assert (digest, size, is_stored) == (digest_of(output), SIZE, True) and said == []
    assert [entry.size for entry in server.listed()] == [16 * MIB, 16 * MIB, MIB]
    assert not server.storage.blobs.has(digest), "it went through the server"
    check_content(server.storage, FileView("outputs/model.bin", SIZE, digest))
    with pytest.raises(InvalidInput, match="should have 5 bytes"):
        check_content(server.storage, FileView("outputs/model.bin", 5, digest))
    content = Path(output).read_bytes()
    assert b"".join(server.objects.read(digest)) == content
    edge = 16 * MIB - 3
    assert b"".join(server.objects.read_part(digest, edge, 7)) == content[edge : edge + 7]
    assert direct_upload.send(server, output, said.append)[2] and server.asked == [3, 0, 0], "sent twice"
    server.objects.bring(digest)
    server.storage.blobs.copy_to(digest, str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == content


def test_an_interrupted_upload_resumes_and_shows_nothing_before_its_end(server: DirectServer, output: str) -> None:
    digest, content = digest_of(output), Path(output).read_bytes()
    plan = server.upload_directly(digest, SIZE)
    server.place().put(f"{digest}/000001", content[16 * MIB : 32 * MIB])  # the agent was killed after this part
    server.place().put(f"{digest}/000002", b"short")
    assert len(plan.parts) == 3 and not server.objects.has(digest)
    with pytest.raises(InvalidInput, match="is not in the store"):
        check_content(server.storage, FileView("outputs/model.bin", SIZE, digest))
    with pytest.raises(NotFound):
        server.objects.read(digest)
    server.asked.clear()
    assert direct_upload.send(server, output, print)[2]
    assert server.asked == [2, 0] and b"".join(server.objects.read(digest)) == content


def test_a_file_that_changes_meanwhile_is_never_stored(server: DirectServer, output: str) -> None:
    ask = server.upload_directly

    def change_first(digest: str, size: int) -> DirectUpload:
        with open(output, "r+b") as file:
            file.write(b"other")
        return ask(digest, size)

    digest = digest_of(output)
    server.upload_directly = change_first
    with pytest.raises(InvalidInput, match="changed while it was sent"):
        direct_upload.send(server, output, print)
    assert server.listed() == [] and not server.objects.has(digest)


def test_damage_in_the_store_is_an_error_that_the_next_upload_heals(server: DirectServer, output: str) -> None:
    digest = direct_upload.send(server, output, print)[0]
    server.place().put(f"{digest}/000000", bytes(16 * MIB))
    with pytest.raises(Broken, match=f"blob {digest} .* is damaged"):
        list(server.objects.read(digest))
    assert not direct_upload.send(server, output, print)[2], "the damaged objects were taken for the content"
    server.storage.blobs.put_stream(digest, [Path(output).read_bytes()])
    assert server.upload_directly(digest, SIZE).stored


def test_garbage_goes_with_its_objects_and_everything_else_stays(server: DirectServer, output: str) -> None:
    digest = direct_upload.send(server, output, print)[0]
    assert Verification(server.storage, repair=False, say=print).run().checked["blobs in the object store"] == 1
    kept = server.objects.collect_garbage(60.0, dry_run=False)
    assert (kept.blobs, kept.recent_blobs, kept.recent_bytes) == (0, 1, SIZE) and server.objects.has(digest)
    planned = server.objects.collect_garbage(-1.0, dry_run=True)
    assert (planned.blobs, planned.bytes) == (1, SIZE) and len(server.listed()) == 3
    removed = server.objects.collect_garbage(-1.0, dry_run=False)
    assert (removed.blobs, removed.bytes) == (1, SIZE)
    assert server.listed() == [] and not server.objects.has(digest)


def test_a_store_that_nodes_cannot_reach_leaves_the_file_to_the_server(server: DirectServer, output: str) -> None:
    ask = server.upload_directly

    def behind_a_firewall(digest: str, size: int) -> DirectUpload:
        plan = ask(digest, size)
        hidden = [replace(part, url=re.sub(r":\d+/", ":9/", part.url, count=1)) for part in plan.parts]
        return replace(plan, parts=tuple(hidden))

    server.upload_directly = behind_a_firewall
    said: list[str] = []
    assert direct_upload.send(server, output, said.append)[2] is False
    assert len(server.asked) == 3 and "is sent to the server instead" in said[-1]
    assert not any("sig" in line.lower() for line in said), "a signed URL was printed"


def test_without_an_object_store_files_go_to_the_server(tmp_path: Path) -> None:
    server = DirectServer(tmp_path / "home", StoreSpec("folder", {"path": str(tmp_path)}))
    assert server.objects.smallest() is None
    assert server.upload_directly("a" * 64, SIZE) == DirectUpload(stored=False)
    server.storage.close()


def test_another_store_in_the_settings_is_named(server: DirectServer, output: str) -> None:
    digest = direct_upload.send(server, output, print)[0]
    server.storage.datastores.lie_in(
        StoreSpec("s3", {"bucket": "new"}, {"access_key_id": "a", "secret_access_key": "b"})
    )
    with pytest.raises(NotFound, match="which the settings do not name"):
        server.objects.read(digest)


@pytest.mark.parametrize(("size", "part"), [(1, 16), (16 * 2000, 16), (16 * 2000 + 1, 32), (1 << 20, 64)])
def test_parts_grow_with_the_file_up_to_64_mib(size: int, part: int) -> None:
    assert part_size_of(size * MIB) == part * MIB


def test_a_server_that_is_away_is_asked_again_by_the_caller(server: DirectServer, output: str) -> None:
    def away(digest: str, size: int) -> DirectUpload:
        raise Unavailable("the server is away", "wait")

    server.upload_directly = away
    with pytest.raises(Unavailable):
        direct_upload.send(server, output, print)
