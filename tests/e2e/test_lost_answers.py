"""Lost responses: the client retries the request, and the server applies it once."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import Experiment, Run, UserErrorException, Workspace
from footplate.sdk.exceptions import AzureMLException


class Relay:
    """A relay between client and server that drops the first response to each request that `loses` matches."""

    def __init__(self, place: Path, server: Path, loses: bytes) -> None:
        self.lost: list[bytes] = []
        self._server = str(server)
        self._loses = re.compile(loses)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            asked: list[bytes] = []
            threading.Thread(target=self._forward, args=(client, server, asked), daemon=True).start()
            while answer := server.recv(1 << 16):
                found = self._loses.match(asked[-1])
                if found and found[0] not in self.lost:
                    self.lost.append(found[0])
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(answer)

    def _forward(self, client: socket.socket, server: socket.socket, asked: list[bytes]) -> None:
        try:
            while data := client.recv(1 << 16):
                asked.append(data)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:  # the other half has closed it
            return


@pytest.fixture
def run(home: Path, workspace: Workspace) -> Run:
    """Submit directly; the relay is used afterwards."""
    return Experiment(workspace, "lossy").start_logging(snapshot_directory=None)


@pytest.fixture
def relay(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    relay = Relay(home / "r.sock", home / "socket" / "server.sock", rb"POST /api/v1/runs/[^/ ]+/files")
    monkeypatch.setenv("FOOTPLATE_ENDPOINT", f"unix://{home / 'r.sock'}")
    yield relay
    relay.close()


def test_upload_whose_response_is_lost_is_not_a_conflict(relay: Relay, run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    again = Workspace.from_config().get_run(run.id)
    again.upload_file("outputs/a.txt", str(tmp_path / "a.txt"))
    assert len(relay.lost) == 1
    assert again.get_file_names() == ["outputs/a.txt"]
    with pytest.raises(AzureMLException, match="already exists"):
        again.upload_file("outputs/a.txt", str(tmp_path / "a.txt"))
    run.complete()


def test_name_is_either_a_file_or_a_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f")
    run.upload_file("a", str(tmp_path / "f"))
    with pytest.raises((AzureMLException, UserErrorException), match="'a/x' cannot be below 'a', which is a file"):
        run.upload_file("a/x", str(tmp_path / "f"))
    run.upload_file("b/x", str(tmp_path / "f"))
    with pytest.raises((AzureMLException, UserErrorException), match="'b' is the folder of other files"):
        run.upload_file("b", str(tmp_path / "f"))
    run.download_files(output_directory=str(tmp_path / "down"))
    assert sorted(p.name for p in (tmp_path / "down").rglob("*") if p.is_file()) == ["a", "x"]
    run.complete()


def test_key_with_an_equals_sign_can_be_queried(run: Run, workspace: Workspace) -> None:
    run.set_tags({"a=b": "c", "50%": "x", "%3D": "y"})
    run.add_properties({"p=": "=q"})
    found = Experiment(workspace, "lossy")
    for tags in ("a=b", {"a=b": "c"}, {"50%": "x"}, {"%3D": "y"}, {"a=b": None}):
        assert [each.id for each in found.get_runs(tags=tags)] == [run.id], tags
    for tags in ({"a": "b=c"}, {"a=b": "d"}, "a", {"=": "y"}):
        assert list(found.get_runs(tags=tags)) == [], tags
    assert [each.id for each in found.get_runs(properties={"p=": "=q"})] == [run.id]
    run.complete()
