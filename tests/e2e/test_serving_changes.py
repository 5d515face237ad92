"""Changes of a web service under load: no request fails, and a bad version gets none."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from azureml.core import Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from azureml.exceptions import WebserviceException
from footplate.testing.waiting import wait_until
from support.ops_tools import kill_server

pytestmark = pytest.mark.shared_home


def answering(folder: Path, text: str) -> InferenceConfig:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "score.py").write_text(text)
    return InferenceConfig("score.py", source_directory=str(folder))


def saying(folder: Path, word: str) -> InferenceConfig:
    return answering(folder / word, f"import os\ndef run(data):\n return [{word!r}, os.getpid()]\n")


class Load:
    """Clients that send requests until they are stopped, and count the answers."""

    def __init__(self, service: Webservice, clients: int = 3) -> None:
        self.url = urlsplit(str(service.scoring_uri))
        self.answers: Counter[str] = Counter()
        self.problems: list[str] = []
        self.pids: set[int] = set()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(clients)]

    def _send(self) -> None:
        connection = http.client.HTTPConnection(str(self.url.hostname), self.url.port, timeout=90)
        while not self._stop.is_set():
            try:
                connection.request("POST", self.url.path, b"{}")
                response = connection.getresponse()
                body = response.read()
            except OSError as error:
                self.problems.append(repr(error))
                connection.close()
                continue
            if response.status == 200:
                word, pid = json.loads(body)
                self.answers[word] += 1
                self.pids.add(pid)
            else:
                self.problems.append(f"{response.status} {body[:200]!r}")
            self._stop.wait(0.005)

    @contextmanager
    def running(self) -> Iterator[Load]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join()


def deploy(ws: Workspace, name: str, model: Model, config: InferenceConfig, replicas: int = 1) -> Webservice:
    options = AksWebservice.deploy_configuration(num_replicas=replicas, auth_enabled=False)
    service = Model.deploy(ws, name, [model], config, options)
    service.wait_for_deployment()
    return service


def test_updates_under_load_fail_no_request(ws: Workspace, model: Model, tmp_path: Path) -> None:
    service = deploy(ws, "rolling", model, saying(tmp_path, "one"))
    with Load(service).running() as load:
        service.update(inference_config=saying(tmp_path, "two"))
        service.wait_for_deployment()
        wait_until(lambda: load.answers["two"] > 50)
        broken = answering(tmp_path / "broken", "def init():\n raise ValueError('no such weights')\ndef run(data): 1\n")
        service.update(inference_config=broken)
        with pytest.raises(WebserviceException, match="no such weights"):
            service.wait_for_deployment()
        assert service.state == "Healthy"
        service.update(inference_config=saying(tmp_path, "four"), share=50)
        service.wait_for_deployment()
        wait_until(lambda: load.answers["four"] > 50)
        service.split({2: 0, 4: 100})
        service.update(inference_config=saying(tmp_path, "five"), shadow=True)
        service.wait_for_deployment()
        wait_until(lambda: service.versions[-1].shadow_differences > 5)
        assert load.answers["five"] == 0
    assert load.problems == []
    assert set(load.answers) == {"one", "two", "four"}
    states = {version.number: version.state for version in service.versions}
    assert (states[1], states[3]) == ("stopped", "failed")


def test_a_version_that_fails_under_load_is_rolled_back(ws: Workspace, model: Model, tmp_path: Path) -> None:
    service = deploy(ws, "careful", model, saying(tmp_path, "one"))
    failing = answering(tmp_path / "failing", "def run(data):\n raise ValueError('wrong weights')\n")
    with Load(service).running() as load:
        wait_until(lambda: load.answers["one"] > 50)
        service.change(inference_config=failing, rollback_seconds=300)
        wait_until(lambda: service.versions[-1].state == "failed")
        wait_until(lambda: service.versions[0].weight == 100)
        count, failed = load.answers["one"], len(load.problems)
        wait_until(lambda: load.answers["one"] > count + 100)
    assert failed >= 20 and all("wrong weights" in problem for problem in load.problems)
    assert [version.state for version in service.versions] == ["ready", "failed"]
    cause = service.versions[-1].cause
    assert cause is not None and "rolled back to version 1" in cause.message
    with pytest.raises(WebserviceException, match="rolled back to version 1"):
        service.wait_for_deployment()
    assert service.state == "Healthy"


def test_bad_requests_do_not_roll_a_good_version_back(ws: Workspace, model: Model, tmp_path: Path, home: Path) -> None:
    script = "import json\ndef run(data):\n return sum(json.loads(data)['points'])\n"
    service = deploy(ws, "steady", model, answering(tmp_path / "one", script))
    service.change(inference_config=answering(tmp_path / "two", script), rollback_seconds=300)
    service.wait_for_deployment()
    url = urlsplit(str(service.scoring_uri))
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=90)
    looks: set[float] = set()  # of the server, which follow those of the gateway
    while len(looks) < 5:
        connection.request("POST", url.path, b'{"points": [NaN, "a"]}')
        response = connection.getresponse()
        assert (response.status, b"TypeError" in response.read()) == (500, True)
        if service.versions[-1].errors >= 40:
            looks.add(json.loads((home / "serving" / "status.json").read_text())["time"])
    assert [(version.state, version.weight) for version in service.versions] == [("ready", 0.0), ("ready", 100.0)]
    assert service.run('{"points": [1, 2]}') == 3


def test_killed_processes_under_load_come_back(ws: Workspace, model: Model, tmp_path: Path, home: Path) -> None:
    service = deploy(ws, "stubborn", model, saying(tmp_path, "one"), replicas=2)
    with Load(service).running() as load:
        wait_until(lambda: len(load.pids) == 2)
        for _ in range(3):
            seen = set(load.pids)
            os.kill(max(load.pids), signal.SIGKILL)
            load.pids.clear()
            wait_until(lambda seen=seen: len(load.pids - seen) >= 1)
        assert load.problems == []
        kill_server(home)
        before = load.answers["one"]
        wait_until(lambda: load.answers["one"] > before + 100)  # nobody needs the server for that
        assert load.problems == []
        assert service.state == "Healthy"  # this starts the next server
        gateway = json.loads((home / "serving" / "gateway.json").read_text())
        os.kill(gateway["pid"], signal.SIGKILL)
        wait_until(lambda: json.loads((home / "serving" / "gateway.json").read_text())["pid"] != gateway["pid"])
        count = load.answers["one"]
        wait_until(lambda: load.answers["one"] > count + 100)  # at the same address
    assert not [problem for problem in load.problems if problem[0].isdigit()], load.problems[:5]
