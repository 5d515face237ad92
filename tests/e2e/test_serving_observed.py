"""What an operator sees of a deployed service: figures, request ids, samples, its description, its limits."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import openapi_spec_validator
import pytest
from prometheus_client.parser import text_string_to_metric_families

from azureml.core import Dataset, Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from footplate.serving.gateway.metrics import BUCKETS
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

SCRIPT = """
import os, time
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema
from azureml.monitoring import ModelDataCollector

def init():
    global inputs, sums
    inputs = ModelDataCollector("model", designation="inputs", feature_names=["a", "b"])
    sums = ModelDataCollector("model", designation="predictions", feature_names=["sum"])

@input_schema("word", StandardPythonParameterType("size"))
@input_schema("numbers", StandardPythonParameterType([1.5, 2.5]))
@output_schema(StandardPythonParameterType({"sum": 4.0}))
def run(word, numbers):
    if word == "fail":
        raise ValueError("asked to fail")
    if word == "wait":
        while not os.path.exists(GATE):
            time.sleep(0.02)
    if word == "grow" and not os.path.exists(GROWN):
        open(GROWN, "w").close()
        kept = bytearray(b"x") * 700_000_000
        while kept:  # until the worker ends itself
            time.sleep(0.02)
    inputs.collect(numbers)
    sums.collect([sum(numbers)], user_correlation_id=word)
    return {"sum": sum(numbers), "cpus": len(os.sched_getaffinity(0)), "pid": os.getpid()}
"""


@pytest.fixture
def service(ws: Workspace, tmp_path: Path) -> Webservice:
    (tmp_path / "model.txt").write_text("m")
    model = Model.register(ws, str(tmp_path / "model.txt"), "model")
    (tmp_path / "code").mkdir()
    text = SCRIPT.replace("GATE", repr(str(tmp_path / "gate"))).replace("GROWN", repr(str(tmp_path / "grown")))
    (tmp_path / "code" / "score.py").write_text(text)
    config = InferenceConfig("score.py", source_directory=str(tmp_path / "code"))
    options = AksWebservice.deploy_configuration(
        auth_enabled=False, cpu_cores=1, memory_gb=0.5, collect_model_data=True, scoring_timeout_ms=600_000
    )
    made = Model.deploy(ws, "observed", [model], config, options)
    made.wait_for_deployment()
    return made


def ask(url: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            return response.status, json.load(response), response.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def word(text: str) -> dict[str, Any]:
    return {"word": text, "numbers": [1.0, 2.0]}


class Figures:
    """The figures of the gateway, as Prometheus reads them."""

    def __init__(self, service: Webservice) -> None:
        self._url = str(service.scoring_uri).partition("/api/")[0] + "/metrics"

    def read(self) -> dict[str, dict[str, float]]:
        """Return the values of each sample by its label: `status`, `le`, or nothing."""
        with urllib.request.urlopen(self._url, timeout=300) as response:
            families = list(text_string_to_metric_families(response.read().decode()))
        assert len({family.name for family in families}) == len(families)
        found: dict[str, dict[str, float]] = {}
        for family in families:
            assert family.documentation and family.type in ("counter", "gauge", "histogram")
            for sample in family.samples:
                labels = dict(sample.labels)
                assert (labels.pop("service"), labels.pop("version")) == ("observed", "1")
                found.setdefault(sample.name, {})["".join(labels.values())] = sample.value
        return found


def test_a_service_tells_what_it_does_and_keeps_its_limits(
    ws: Workspace, service: Webservice, tmp_path: Path, home: Path, footplate: Any
) -> None:
    url, figures = str(service.scoring_uri), Figures(service)
    made = check_description(service, figures)
    check_request_ids(service)
    check_queue(url, figures, tmp_path / "gate")
    check_figures(figures.read(), {"200": 7.0, "400": 1.0, "500": 1.0})

    collected = home / "serving" / "collected" / "observed.jsonl"
    wait_until(lambda: collected.read_text().count("\n") == 9)  # they are written after the answers
    lines = [json.loads(line) for line in collected.read_text().splitlines()]
    assert [line["status"] for line in lines] == [200, 200, 500, 400, *[200] * 5]
    assert [line["id"] for line in lines[1:3]] == ["given-1", "given-2"]
    assert json.loads(lines[1]["request"]) == word("size") and json.loads(lines[1]["response"])["sum"] == 3.0
    check_model_data(ws)

    assert made["cpus"] == 1
    status, answer, _ = ask(url, word("grow"))  # the worker ends; the gateway gives the request to the next
    assert (status, answer["sum"]) == (200, 3.0) and answer["pid"] != made["pid"]
    assert figures.read()["footplate_retries_total"] == {"": 1.0}
    wait_until(lambda: "GB of memory, more than memory_gb=0.5 allows" in service.get_logs())

    footplate("endpoints", "update", "observed", "--cors", "https://app.example.com")
    allowed = "access-control-allow-origin"
    wait_until(lambda: ask(url, word("size"), origin="https://app.example.com")[2][allowed] is not None)
    assert len(service.versions) == 1
    footplate("endpoints", "update", "observed", "--cors", "none")
    wait_until(lambda: ask(url, word("size"), origin="https://app.example.com")[2][allowed] is None)


def check_model_data(ws: Workspace) -> None:
    """Read the rows that the script kept, as a dataset."""
    path = f"modeldata/{ws.subscription_id}/{ws.resource_group}/{ws.name}/observed/model/1"
    tables = [
        Dataset.Tabular.from_delimited_files((ws.get_default_datastore(), f"{path}/{name}/*/*/*/{name}.csv"))
        for name in ("inputs", "predictions")
    ]
    inputs, sums = (table.to_pandas_dataframe() for table in tables)
    assert inputs[["a", "b"]].values.tolist() == [[1.5, 2.5], *[[1.0, 2.0]] * 6]
    assert sums["sum"].tolist() == [4.0, *[3.0] * 6] and set(sums["$aml_dc_correlation_id"]) == {"size", "wait"}
    assert inputs["$aml_request_id"].tolist() == sums["$aml_request_id"].tolist()
    assert inputs["$aml_request_id"][1] == "given-1"


def check_description(service: Webservice, figures: Figures) -> Any:
    """Send the request that the OpenAPI document of the service gives as an example to where it says."""
    with urllib.request.urlopen(str(service.swagger_uri), timeout=300) as response:
        document = json.load(response)
    openapi_spec_validator.validate(document)
    assert figures.read()["footplate_request_seconds_count"] == {"": 0.0}
    content = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]
    example = content["schema"]["example"]
    assert example == {"word": "size", "numbers": [1.5, 2.5]}
    base = str(service.scoring_uri).partition("/api/")[0]
    status, answer, _ = ask(base + document["servers"][0]["url"] + "/score", example)
    assert (status, answer["sum"]) == (200, 4.0)
    return answer


def test_a_replica_that_prints_a_lot_keeps_its_last_lines(
    ws: Workspace, home: Path, tmp_path: Path, footplate: Any
) -> None:
    (home / "settings.ini").write_text("[services]\nlog_size = 1 MiB\n")
    (tmp_path / "model.txt").write_text("m")
    model = Model.register(ws, str(tmp_path / "model.txt"), "model")
    (tmp_path / "score.py").write_text(
        "def init():\n    for number in range(300_000): print(number, 'of many lines', flush=True)\n"
        "def run(data): print('served', flush=True)\n"
    )
    config = InferenceConfig(str(tmp_path / "score.py"))
    service = Model.deploy(ws, "talkative", [model], config, AksWebservice.deploy_configuration(auth_enabled=False))
    service.wait_for_deployment()
    service.run("{}")
    wait_until(lambda: service.get_logs(3).splitlines()[-2:] == ["299999 of many lines", "served"])
    assert service.get_logs(3).startswith("──── cut: 5,")
    assert footplate("endpoints", "logs", "talkative", "-n", "3").stdout.startswith("──── cut: 5,")
    logs = [log for root in ("runs", "work") for log in (home / root).glob("talkative*/**/std_log.txt")]
    sizes = [log.stat().st_size for log in logs if "log_times" not in log.parts]
    assert len(sizes) == 2 and max(sizes) <= 1 << 20


def check_request_ids(service: Webservice) -> None:
    url = str(service.scoring_uri)
    headers = ask(url, word("size"), x_request_id="given-1")[2]
    assert (headers["x-request-id"], headers["x-ms-request-id"]) == ("given-1", "given-1")
    status, _, headers = ask(url, word("fail"), x_ms_request_id="given-2")
    assert (status, headers["x-request-id"], headers["x-ms-request-id"]) == (500, "given-2", "given-2")
    status, _, headers = ask(url, "no object")
    assert status == 400 and len(headers["x-ms-request-id"]) == 16 and headers["x-ms-request-id"].isalnum()
    wait_until(lambda: "request given-2 failed\nTraceback" in service.get_logs())


def check_queue(url: str, figures: Figures, gate: Path) -> None:
    """Send five requests, of which one holds the worker until the gate is open."""
    threads = [threading.Thread(target=ask, args=[url, word("wait")]) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: figures.read()["footplate_queue_length"] == {"": 4.0})
    gate.touch()
    for thread in threads:
        thread.join()


def check_figures(found: dict[str, dict[str, float]], statuses: dict[str, float]) -> None:
    total = sum(statuses.values())
    assert found["footplate_requests_total"] == statuses
    for name in ("footplate_request_seconds", "footplate_batch_size"):
        buckets = list(found[f"{name}_bucket"].values())
        assert buckets == sorted(buckets) and buckets[-1] == total
        assert found[f"{name}_count"] == {"": total}
    assert list(found["footplate_request_seconds_bucket"]) == [*map(str, BUCKETS), "+Inf"]
    assert found["footplate_request_seconds_sum"][""] > 0
    assert found["footplate_batch_size_sum"] == {"": total}  # a script gets one request at a time
    assert (found["footplate_queue_length"], found["footplate_workers"]) == ({"": 0.0}, {"": 1.0})
