"""Signed links, and uploads in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.errors import NotAllowed
from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.transfers import Transfers

ORIGIN = "https://train.example.com"


def path_of(link: str) -> str:
    return link.removeprefix(ORIGIN)


def test_a_link_gives_back_its_payload_to_any_process_of_the_home(tmp_path: Path) -> None:
    link = Transfers(tmp_path).link(ORIGIN, digest="d" * 64)
    assert Transfers(tmp_path).read_link(path_of(link))["digest"] == "d" * 64


def test_a_changed_link_is_refused(tmp_path: Path) -> None:
    transfers = Transfers(tmp_path)
    link = path_of(transfers.link(ORIGIN, digest="d" * 64))
    (tmp_path / "other").mkdir()
    foreign = path_of(Transfers(tmp_path / "other").link(ORIGIN, digest="d" * 64))
    for wrong in (link[:-1], link.replace(".", "A.", 1), link.partition(".")[0], foreign, "/mlflow-transfers/é.ü"):
        with pytest.raises(NotAllowed, match="not valid, or has expired"):
            transfers.read_link(wrong)


def test_parts_are_joined_in_order_and_forgotten(tmp_path: Path) -> None:
    transfers = Transfers(tmp_path)
    upload = transfers.begin(ORIGIN, 2)
    assert [each["part_number"] for each in upload["credentials"]] == [1, 2]
    for number, content in ((2, b"world"), (1, b"hello ")):
        transfers.part(upload["upload_id"], number).write_bytes(content)
    parts = [{"part_number": 2, "etag": "b"}, {"part_number": 1, "etag": "a"}]
    assert transfers.finish(upload["upload_id"], parts).read_bytes() == b"hello world"
    transfers.end(upload["upload_id"])
    with pytest.raises(MlflowError, match="there is no upload"):
        transfers.part(upload["upload_id"], 1)


def test_an_upload_lacks_no_part(tmp_path: Path) -> None:
    transfers = Transfers(tmp_path)
    upload = transfers.begin(ORIGIN, 2)["upload_id"]
    transfers.part(upload, 1).write_bytes(b"x")
    with pytest.raises(MlflowError, match="part 2 of upload"):
        transfers.finish(upload, [{"part_number": 1}, {"part_number": 2}])


@pytest.mark.parametrize("upload", ["..", "a/b", "", "0" * 32])
def test_an_upload_is_named_by_its_id_only(tmp_path: Path, upload: str) -> None:
    with pytest.raises(MlflowError, match="there is no upload"):
        Transfers(tmp_path).part(upload, 1)


@pytest.mark.parametrize("parts", [0, 10_001])
def test_the_number_of_parts_is_limited(tmp_path: Path, parts: int) -> None:
    with pytest.raises(MlflowError, match="num_parts"):
        Transfers(tmp_path).begin(ORIGIN, parts)
