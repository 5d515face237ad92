"""Two models, served by Footplate and its peers at the same time, and one client program that measures all of them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from bench.harness import Report, wait_for
from bench.homes import footplate_home
from bench.machine import free_port
from bench.peers.model_servers import (
    JOBS,
    awake,
    family_of,
    litserve_command,
    mlflow_command,
    mosec_command,
    peers_python,
    serving,
)
from footplate import Workspace
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import Webservice

MODELS = {"network": "network 784-300-100-10 (ONNX)", "trees": "100 boosted trees (LightGBM)"}
FILES = {"network": ("network.onnx", "Onnx"), "trees": ("trees.txt", "LightGBM")}
OURS, MLFLOW, MLFLOW_TWO = "footplate", "mlflow models serve", "mlflow models serve --workers 2"
LITSERVE, LITSERVE_WAITING, MOSEC = "LitServe", "LitServe, batch_timeout 5 ms", "mosec"


@dataclass(frozen=True)
class Contestant:
    """A server of one model: its address, the form of its requests, and its processes. Peers sleep between turns."""

    who: str
    model: str
    url: str
    field: str
    processes: Sequence[psutil.Process]
    is_peer: bool = False


@dataclass(frozen=True)
class Load:
    """The result of one measurement."""

    latencies: Sequence[float]  # milliseconds
    rate: float  # requests per second
    server_cpu: float  # milliseconds of CPU time per request, in all processes of the server
    client_busy: float  # share of one core that the client used
    wrong: Sequence[str]


class Stage:
    """All contestants, ready to be measured."""

    def __init__(self, folder: Path, workspace: Workspace) -> None:
        self.folder = folder
        self.workspace = workspace
        self.python = peers_python()
        self.models = folder / "models"
        self.models.mkdir()
        subprocess.run(
            [self.python, JOBS / "serving_models.py", self.models], check=True, capture_output=True, text=True
        )
        described = {name: json.loads((self.models / f"{name}.json").read_text()) for name in MODELS}
        self.inputs = {name: known["inputs"] for name, known in described.items()}
        self.expected = {name: known["outputs"] for name, known in described.items()}

    # ── Contestants ───────────────────────────────────────────────────────────────────────────────────────────────────

    def register(self, model: str) -> Model:
        file, framework = FILES[model]
        with redirect_stdout(StringIO()):
            return Model.register(self.workspace, str(self.models / file), model, model_framework=framework)

    @contextmanager
    def ours(self, model: str) -> Iterator[Contestant]:
        """Deploy the model with all defaults."""
        service = Model.deploy(self.workspace, f"bench-{model}", [self.register(model)])
        try:
            service.wait_for_deployment()
            yield Contestant(OURS, model, str(service.scoring_uri), "data", self.our_processes(service))
        finally:
            service.delete()

    def our_processes(self, service: Webservice) -> list[psutil.Process]:
        home = self.folder / "home"
        gateway = psutil.Process(json.loads((home / "serving" / "gateway.json").read_text())["pid"])
        run = service.versions[-1].run
        return [gateway, *(p for p in psutil.process_iter() if _is_worker(p, run))]

    @contextmanager
    def peer(self, who: str, model: str) -> Iterator[Contestant]:
        port = free_port()
        if who in (LITSERVE, LITSERVE_WAITING):
            command = litserve_command(self.python, self.models, model, port, 0.005 if who == LITSERVE_WAITING else 0)
            path, field = "predict", "data"
        elif who == MOSEC:
            command = mosec_command(self.python, self.models, model, port)
            path, field = "inference", "data"
        else:
            command = mlflow_command(self.python, self.models, model, port, 2 if who == MLFLOW_TWO else 1)
            path, field = "invocations", "inputs"
        with serving(command, port, self.folder / f"{who}-{model}.log", self.python) as process:
            contestant = Contestant(who, model, f"http://127.0.0.1:{port}/{path}", field, [process], is_peer=True)
            with awake(contestant.processes):
                wait_for(f"an answer of {who}", lambda: self._answers(contestant), 60, 0.2)
            yield contestant

    def _answers(self, contestant: Contestant) -> bool | None:
        """Whether the server has loaded the model: the port of some accepts before that."""
        body = json.dumps({contestant.field: self.inputs[contestant.model][:1]}).encode()
        request = urllib.request.Request(contestant.url, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as response:
                return True if response.status == 200 else None
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise RuntimeError(f"{contestant.who}: {error} {error.read()[:300]!r}") from error
            return None
        except OSError:
            return None

    @contextmanager
    def all(self, model: str, peers: Sequence[str]) -> Iterator[list[Contestant]]:
        with ExitStack() as stack:
            servers = [stack.enter_context(self.peer(who, model)) for who in peers]
            yield [stack.enter_context(self.ours(model)), *servers]

    # ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def measure(self, contestant: Contestant, clients: int, seconds: float) -> Load:
        """Send requests with one row each, and check every distinct answer."""
        url = urlsplit(contestant.url)
        bodies = [json.dumps({contestant.field: [row]}) for row in self.inputs[contestant.model]]
        given = {"host": url.hostname, "port": url.port, "path": url.path, "bodies": bodies, "clients": clients}
        with awake(contestant.processes) if contestant.is_peer else nullcontext():
            before = _cpu_seconds(contestant.processes)
            done = subprocess.run(
                [sys.executable, JOBS / "http_load.py"], input=json.dumps({**given, "seconds": seconds}),
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            used = _cpu_seconds(contestant.processes) - before
        found = json.loads(done.stdout)
        latencies, taken = found["latencies"], found["seconds"]
        return Load(
            [value * 1000 for value in latencies], len(latencies) / taken, used * 1000 / len(latencies),
            found["cpu"] / taken, [text for answer in found["answers"] if (text := self._wrong(contestant, *answer))],
        )  # fmt: skip

    def _wrong(self, contestant: Contestant, place: int, status: int, body: str) -> str:
        """Return what is wrong with an answer; nothing for a right one."""
        if status != 200:
            return f"{status} {body[:200]}"
        seen, expected = _numbers(json.loads(body)), _numbers(self.expected[contestant.model][place])
        close = len(seen) == len(expected) and all(
            math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-5) for one, other in zip(seen, expected, strict=True)
        )
        return "" if close else f"{seen} instead of {expected}"

    def in_process(self, model: str, seconds: float) -> list[float]:
        """Return the latencies of the bare library in milliseconds."""
        command = [self.python, JOBS / "score_in_process.py", model, self.models, str(seconds)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [value * 1000 for value in json.loads(done.stdout)]

    def first_answer(self, model: str, name: str) -> float:
        """Return the seconds from the call of `Model.deploy` to the first 200."""
        registered = Model(self.workspace, model)
        body = json.dumps({"data": self.inputs[model][:1]})
        begin = time.perf_counter()
        service = Model.deploy(self.workspace, name, [registered])
        service.wait_for_deployment()
        service.run(body)
        taken = time.perf_counter() - begin
        service.delete()
        return taken


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    with footplate_home(folder) as workspace:
        yield Stage(folder, workspace)


def check_answers(report: Report, contestant: Contestant, loads: Sequence[Load]) -> None:
    wrong = [text for load in loads for text in load.wrong]
    what = f"{contestant.who}, {contestant.model}: every answer was right"
    report.check(what, not wrong and all(load.latencies for load in loads), wrong[0] if wrong else "")


def _is_worker(process: psutil.Process, run: str) -> bool:
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False
    return "footplate.serving.worker" in words and any(run in word for word in words)


def _cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in family_of(processes)))


def _numbers(value: Any) -> list[float]:
    """Return the numbers of an answer, whatever their nesting and the names around them."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in _numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [float(value)]
