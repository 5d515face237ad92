from __future__ import annotations

import os
import shutil

import pytest

from footplate.domain.orders import Cause
from footplate.domain.records import FileView
from footplate.errors import Broken, Conflict, InvalidInput

from .conftest import House, run_through


def test_the_log_of_the_active_build_is_followed_until_a_script_logs(house: House) -> None:
    logs, files = house.store.logs, house.services.files
    house.submit("r1")
    assert files.primary_log("r1") is None
    logs.append("r1", "azureml-logs/20_image_build_log.txt", 0, b"waiting\n")
    assert files.primary_log("r1") == "azureml-logs/20_image_build_log.txt"
    logs.append("r1", "azureml-logs/20_image_build_log_1.txt", 0, b"building\nstill building\n")
    assert files.primary_log("r1") == "azureml-logs/20_image_build_log_1.txt"
    for name in ("user_logs/std_log_process_01.txt", "user_logs/std_log_process_00.txt"):
        logs.append("r1", name, 0, b"hello\n")
    assert files.primary_log("r1") == "user_logs/std_log_process_00.txt"


@pytest.mark.parametrize("damaged", [b"wrong", b"cut", b""])
@pytest.mark.parametrize("part", [(0, None), (1, 2)])
def test_a_damaged_file_is_an_error_that_names_file_and_run(
    house: House, damaged: bytes, part: tuple[int, int | None]
) -> None:
    blobs, files = house.store.blobs, house.services.files
    house.submit("r1")
    digest = blobs.put_bytes(b"right")
    files.add("r1", [FileView("outputs/model", 5, digest)], automatic=False)
    assert b"".join(files.read("r1", files.find("r1", "outputs/model"), 1, 2)) == b"ig"
    os.chmod(blobs.path(digest), 0o644)
    with open(blobs.path(digest), "wb") as file:
        file.write(damaged)
    for _ in range(2):
        with pytest.raises(Broken, match="'outputs/model' of run r1 is damaged"):
            files.read("r1", files.find("r1", "outputs/model"), *part)
    assert files.missing([digest]) == [digest]
    files.put_blob(digest, [b"right"])
    assert b"".join(files.read("r1", files.find("r1", "outputs/model"))) == b"right"


def ended_run_with_logs(house: House) -> None:
    house.submit("r1")
    house.store.logs.append("r1", "user_logs/std_log.txt", 0, b"hello\n")
    house.store.logs.append("r1", "system_logs/node_0.txt", 0, b"started\n")
    run_through(house, "r1")


@pytest.mark.parametrize("damage", ["truncated", "deleted", "folder deleted"])
def test_lost_logs_of_an_ended_run_are_an_error(house: House, damage: str) -> None:
    ended_run_with_logs(house)
    files, folder = house.services.files, house.store.home / "runs" / "r1" / "logs"
    assert files.tail("r1", None, 0).text == "hello\n"
    if damage == "truncated":
        os.truncate(folder / "user_logs" / "std_log.txt", 0)
    elif damage == "deleted":
        os.unlink(folder / "user_logs" / "std_log.txt")
    else:
        shutil.rmtree(folder)
    with pytest.raises(Broken, match=r"logs of run r1 are lost: it had 2 with 14 bytes"):
        files.tail("r1", None, 0)
    with pytest.raises(Broken, match="logs of run r1 are lost"):
        files.list("r1")


def test_logs_of_a_running_run_may_be_empty(house: House) -> None:
    house.submit("r1")
    assert house.services.files.tail("r1", None, 0).log is None


def test_parts_of_a_blob_are_checked_again_when_its_file_changes(house: House) -> None:
    blobs, files = house.store.blobs, house.services.files
    house.submit("r1")
    digest = blobs.put_bytes(b"right")
    files.add("r1", [FileView("outputs/model", 5, digest)], automatic=False)
    model = files.find("r1", "outputs/model")
    before = os.stat(blobs.path(digest))
    for _ in range(2):
        assert b"".join(files.read("r1", model, 1, 2)) == b"ig"
    os.chmod(blobs.path(digest), 0o644)
    with open(blobs.path(digest), "wb") as file:
        file.write(b"wrong")
    os.utime(blobs.path(digest), ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(Broken, match="'outputs/model' of run r1 is damaged"):
        files.read("r1", model, 1, 2)


def test_checkpoints_of_a_node_are_replaced_by_its_current_attempt_only(house: House) -> None:
    files = house.services.files
    house.submit("r1")
    digest = house.store.blobs.put_bytes(b"right")
    saved = FileView("checkpoints_node_1/a", 5, digest)
    assert files.save_checkpoints("r1", 1, [saved], 1) == []
    assert [file.path for file in files.list("r1")] == ["checkpoints_node_1/a"]
    with pytest.raises(Conflict, match="at attempt 1, not 2"):
        files.save_checkpoints("r1", 1, [], 2)
    for wrong in (saved, FileView("checkpoints/b", 5, "0" * 64), FileView("checkpoints/b", 4, digest)):
        with pytest.raises(InvalidInput):
            files.save_checkpoints("r1", 0, [wrong], 1)
    assert [file.path for file in files.list("r1")] == ["checkpoints_node_1/a"]


def test_an_earlier_attempt_stops_writing_when_the_next_one_has_joined(house: House) -> None:
    """The new agent appends to the log as it finds it; the old one may live on a node that the engine has lost."""
    log, files = "user_logs/std_log.txt", house.services.files
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    files.append_log("r1", log, 0, b"one\n", False, 1)
    house.services.nodes.report("r1", 0, "exited", None, Cause("exit_code", "bad"))
    house.services.nodes.report("r1", 0, "done", None, None)
    house.services.runs.restart("r1", 2)
    house.until_launched("r1")
    files.append_log("r1", log, 4, b"late\n", False, 1)
    house.services.nodes.join("r1", 0, 2, "other", "127.0.0.1", {})
    with pytest.raises(Conflict, match="attempt 2 of run r1 writes"):
        files.append_log("r1", log, 9, b"too late\n", False, 1)
    files.append_log("r1", log, 9, b"two\n", False, 2)
    assert house.store.logs.read("r1", log, 0, 100) == b"one\nlate\ntwo\n"
