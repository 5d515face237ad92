"""Ship journals and logs to a server that is a dictionary with the offset rule."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from footplate.client import ApiResponse
from footplate.errors import Conflict, Unavailable
from footplate.job.journal import Journal
from footplate.job.journal_format import Decoder
from footplate.sdk.exceptions import ServiceException
from footplate.sdk.runs.shipping import JournalDirectory, LogDirectory, Spool, recover


class Server:
    endpoint = "unix:///the/server.sock"

    def __init__(self) -> None:
        self.streams: dict[str, bytes] = {}
        self.requests = 0
        self.away = False

    @property
    def transport(self) -> Server:
        return self

    def request(self, method: str, path: str, *, query: dict[str, Any], body: bytes, **_: Any) -> ApiResponse:
        assert method == "PUT"
        path = path.partition("runs/")[2]
        self.requests += 1
        if self.away:
            raise Unavailable("away")
        have, offset = self.streams.get(path, b""), query["offset"]
        if query.get("replace"):
            have = have[:offset]
        if offset > len(have):
            raise Conflict("a gap", size=len(have))
        self.streams[path] = have + body[len(have) - offset :] if offset + len(body) > len(have) else have
        return ApiResponse(200, {}, b'{"size": %d}' % len(self.streams[path]))

    def values(self, run: str) -> list[Any]:
        found: list[Any] = []
        for path, data in self.streams.items():
            if path.startswith(f"{run}/journals/") and path.endswith("/slots"):
                text = self.streams.get(path[: -len("slots")] + "text", b"")
                decoder = Decoder(lambda at, size, text=text: text[at : at + size])
                found += [point.value for point in decoder.feed(data)]
                assert decoder.damaged == 0
        return found


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("FOOTPLATE_HOME", str(tmp_path / "home"))
    return Server()


def test_new_values_are_sent_once(server: Any, tmp_path: Path):
    journal, shipper = Journal(str(tmp_path / "j")), JournalDirectory(server, "r", str(tmp_path / "j"))
    shipper.ship()
    assert server.requests == 0, "nothing was written, so nothing is sent"
    for value in range(3):
        journal.log("m", float(value))
        journal.log("word", str(value))
        shipper.ship()
    assert server.values("r") == [0.0, "0", 1.0, "1", 2.0, "2"]
    before = server.requests
    shipper.ship()
    assert server.requests == before
    journal.close()


def test_a_new_spool_does_not_ask_for_sizes(server: Any):
    spool = Spool(server, "r")
    with Journal(spool.folder) as journal:
        for value in range(3):
            journal.log("m", float(value))
    spool.close()
    assert server.values("r") == [0.0, 1.0, 2.0]
    assert server.requests == 2, "the name of the series, and the values"
    assert not os.path.exists(spool.folder)


def test_another_shipper_resumes_at_the_servers_size(server: Any, tmp_path: Path):
    journal = Journal(str(tmp_path / "j"))
    journal.log("m", 1.0)
    JournalDirectory(server, "r", str(tmp_path / "j")).ship()
    journal.log("m", 2.0)
    JournalDirectory(server, "r", str(tmp_path / "j")).ship(finished=True)
    assert server.values("r") == [1.0, 2.0]


def test_a_server_that_lost_bytes_gets_them_again(server: Any, tmp_path: Path):
    journal, shipper = Journal(str(tmp_path / "j")), JournalDirectory(server, "r", str(tmp_path / "j"))
    journal.log("m", 1.0)
    journal.log("m", 2.0)
    shipper.ship()
    path = next(p for p in server.streams if p.endswith("/slots"))
    server.streams[path] = server.streams[path][:32]
    journal.log("m", 3.0)
    shipper.ship()
    assert server.values("r") == [1.0, 2.0, 3.0]


def test_only_writers_with_the_prefix_are_shipped(server: Any, tmp_path: Path):
    Journal(str(tmp_path / "j"), "sampler").log("cpu", 1.0)
    Journal(str(tmp_path / "j")).log("m", 2.0)
    JournalDirectory(server, "r", str(tmp_path / "j"), "rank_").ship()
    assert server.values("r") == [2.0]


def test_logs_grow_shrink_and_vanish(server: Any, tmp_path: Path):
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    watch = LogDirectory(server, "r", str(folder), "logs")
    (folder / "deep" / "a.txt").write_text("one\n")
    watch.ship()
    (folder / "deep" / "a.txt").write_text("one\ntwo\n")
    watch.ship()
    assert server.streams == {"r/logs/logs/deep/a.txt": b"one\ntwo\n"}
    (folder / "deep" / "a.txt").write_text("new\n")
    watch.ship()
    assert server.streams["r/logs/logs/deep/a.txt"] == b"new\n"
    (folder / "deep" / "a.txt").unlink()
    watch.ship()


def test_closing_a_spool_removes_it(server: Any, tmp_path: Path):
    spool = Spool(server, "r")
    journal = Journal(spool.folder)
    journal.log("m", 1.0)
    journal.close()
    spool.close()
    assert server.values("r") == [1.0] and os.listdir(tmp_path / "home" / "spool") == []


def test_only_spools_of_dead_owners_are_recovered(server: Any, tmp_path: Path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.txt").write_text("said")
    alive, dead = Spool(server, "alive"), Spool(server, "dead")
    for spool in (alive, dead):
        Journal(spool.folder).log("m", 1.0)
    dead.watch(str(tmp_path / "logs"), "logs")
    dead._lock.close()  # the kernel does this when a process dies
    recover(server)
    assert server.values("dead") == [1.0] and server.values("alive") == []
    assert server.streams["dead/logs/logs/a.txt"] == b"said"
    assert os.listdir(tmp_path / "home" / "spool") == ["alive"]
    alive.close()


def test_a_spool_for_another_server_is_left_alone(server: Any, tmp_path: Path):
    spool = Spool(server, "r")
    Journal(spool.folder).log("m", 1.0)
    spool._lock.close()
    other = Server()
    other.endpoint = "http://elsewhere"
    recover(other)  # type: ignore[arg-type]
    assert other.requests == 0 and os.path.isdir(spool.folder)
    recover(server)
    assert server.values("r") == [1.0]


def test_nothing_is_lost_while_the_server_is_away(server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    spool = Spool(server, "r")
    Journal(spool.folder).log("m", 1.0)
    server.away = True
    with pytest.raises(ServiceException, match="away"):
        spool.ship()
    spool._lock.close()
    recover(server)
    assert "could not be shipped" in caplog.text and os.path.isdir(spool.folder)
    server.away = False
    recover(server)
    assert server.values("r") == [1.0]


def test_a_conflict_that_is_not_a_gap_is_an_error(server: Any, tmp_path: Path):
    Journal(str(tmp_path / "j")).log("m", 1.0)
    server.request = lambda *_, **__: (_ for _ in ()).throw(Conflict("odd", size=9))
    with pytest.raises(ServiceException, match="odd"):
        JournalDirectory(server, "r", str(tmp_path / "j"), is_new=True).ship()
