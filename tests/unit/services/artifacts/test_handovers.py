from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from footplate.errors import InvalidInput
from footplate.node.delivery.direct_upload import SharedFolder

from ..conftest import House

CONTENT = os.urandom(3 << 20)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Receiver:
    """The server as the agent of node 0 of run r1 sees it."""

    def __init__(self, house: House) -> None:
        self._take = house.services.handovers.take
        self.asked: list[tuple[bool, bool]] = []

    def hand_over(self, digest: str, size: int, probe: bool) -> bool:
        self.asked.append((probe, taken := self._take("r1", 0, digest, size, probe)))
        return taken


def placed_at(house: House, shared: str) -> Receiver:
    """Submit run r1 to a target with this shared directory, as the server reads the option."""
    house.engine.options = {"shared": "a directory"}
    house.services.computes.put(house.workspace, "far", 1, engine="far", options={"shared": shared})
    house.submit("r1", target="far")
    return Receiver(house)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = tmp_path / "model.bin"
    path.write_bytes(CONTENT)
    return path


def test_the_server_takes_files_from_a_directory_that_it_sees(house: House, tmp_path: Path, output: Path) -> None:
    shared = tmp_path / "shared"
    server = placed_at(house, str(shared))
    folder = SharedFolder(server, str(shared), "r1", 0, print)
    assert folder.hand_over(str(output), DIGEST, len(CONTENT))
    assert folder.hand_over(str(output), DIGEST, len(CONTENT)), "a repeated handover is refused"
    assert server.asked == [(True, True), (False, True), (False, True)], "one probe is enough"
    with house.store.blobs.open(DIGEST) as stored:
        assert stored.read() == CONTENT
    assert list((shared / "handover").iterdir()) == [] and len(list(house.store.blobs.walk())) == 1
    os.truncate(output, 1)
    assert house.store.blobs.size(DIGEST) == len(CONTENT), "the blob is the file of the job"


@pytest.mark.parametrize("option", ["{other}", "$NOWHERE/shared", "~nobody-of-that-name/shared"])
def test_a_directory_that_the_server_does_not_see_is_not_used(
    house: House, tmp_path: Path, output: Path, option: str
) -> None:
    (tmp_path / "other").mkdir()
    server = placed_at(house, option.format(other=tmp_path / "other"))
    folder = SharedFolder(server, str(tmp_path / "shared"), "r1", 0, print)
    for _ in range(2):
        assert not folder.hand_over(str(output), DIGEST, len(CONTENT))
    assert server.asked == [(True, False)]
    assert list((tmp_path / "shared" / "handover").iterdir()) == []


def test_other_content_than_the_digest_promises_is_refused(house: House, tmp_path: Path, output: Path) -> None:
    server = placed_at(house, str(tmp_path / "shared"))
    folder = SharedFolder(server, str(tmp_path / "shared"), "r1", 0, print)
    output.write_bytes(bytes(len(CONTENT)))
    with pytest.raises(InvalidInput, match=DIGEST):
        folder.hand_over(str(output), DIGEST, len(CONTENT))
    output.write_bytes(b"short")
    with pytest.raises(InvalidInput, match=f"has 5 bytes, not {len(CONTENT)}"):
        folder.hand_over(str(output), DIGEST, len(CONTENT))
    assert not house.store.blobs.has(DIGEST)


def test_links_and_devices_are_never_followed(house: House, tmp_path: Path, output: Path) -> None:
    server, place = placed_at(house, str(tmp_path)), tmp_path / "handover" / f"r1-0-{DIGEST}"
    place.parent.mkdir()
    place.symlink_to(output)
    assert not server.hand_over(DIGEST, len(CONTENT), probe=False)
    place.unlink()
    os.mkfifo(place)
    assert not server.hand_over(DIGEST, len(CONTENT), probe=False)


def test_a_directory_that_cannot_be_written_leaves_the_file_to_http(house: House, tmp_path: Path, output: Path) -> None:
    said: list[str] = []
    (tmp_path / "shared").write_text("a file")
    server = placed_at(house, str(tmp_path / "shared"))
    assert not SharedFolder(server, str(tmp_path / "shared"), "r1", 0, said.append).hand_over(str(output), DIGEST, 1)
    assert server.asked == [] and "does not go through" in said[0]


def test_files_of_agents_that_never_came_back_are_removed(house: House, tmp_path: Path, output: Path) -> None:
    left, recent = tmp_path / "handover" / "r0-0-old", tmp_path / "handover" / "r0-0-new"
    left.parent.mkdir()
    left.touch()
    recent.touch()
    os.utime(left, (0, 0))
    assert SharedFolder(placed_at(house, str(tmp_path)), str(tmp_path), "r1", 0, print).hand_over(
        str(output), DIGEST, len(CONTENT)
    )
    assert not left.exists() and recent.exists()
