"""The probe of `footplate compute check`, on this machine."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from footplate.sdk.compute import node_probe


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_all_nodes_of_a_run_reach_each_other() -> None:
    port, found = free_port(), dict[int, node_probe.Finding]()

    def probe(rank: int) -> None:
        found[rank] = node_probe.check_network(rank, 3, "127.0.0.1", port)

    threads = [threading.Thread(target=probe, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == dict.fromkeys(range(3), ("ok", "reaches all 3 nodes"))


def test_a_node_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_probe, "PATIENCE", 0.1)
    assert node_probe.check_network(0, 2, "127.0.0.1", free_port()) == ("fail", "node 1 has not answered")
    port = free_port()
    with pytest.raises(OSError, match=f"node 0 cannot be reached at 127.0.0.1:{port}"):
        node_probe.check_network(1, 2, "127.0.0.1", port)


def test_the_index_of_the_environment_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_port()}/simple")
    assert node_probe.check_index()[0] == "warn"
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        assert node_probe.check_index() == ("ok", "127.0.0.1 can be reached")


def test_a_node_alone_writes_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_port()}/simple")
    node_probe.main(["--endpoint", "unix:///x.sock", "--home", str(tmp_path), "--shared", str(tmp_path)])
    report = json.loads((tmp_path / "outputs" / "nodes" / "0.json").read_text())
    states = {finding["name"]: finding["state"] for finding in report["findings"]}
    assert report["node"] == 0 and states["python"] == states["server"] == states["shared"] == "ok"
    assert "network" not in states
