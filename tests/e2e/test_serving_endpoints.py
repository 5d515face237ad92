"""Endpoints whose versions have names: each gets its percentage of the requests, and comes and goes by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from azureml.core import Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksEndpoint, Webservice
from azureml.exceptions import WebserviceException
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home


def saying(folder: Path, word: str) -> InferenceConfig:
    (folder / word).mkdir()
    (folder / word / "score.py").write_text(f"def run(data):\n return {word!r}\n")
    return InferenceConfig("score.py", source_directory=str(folder / word))


def answers(endpoint: AksEndpoint, count: int = 20) -> Counter[str]:
    return Counter(endpoint.run("{}") for _ in range(count))


def shares(endpoint: AksEndpoint) -> dict[str, tuple[float, float, bool]]:
    """The share that each version was given, the one that it has, and whether it is the default."""
    return {
        name: (version.traffic_percentile, version.actual_percentile, version.is_default)
        for name, version in endpoint.versions.items()
    }


def test_named_versions_share_the_requests_and_are_changed_by_name(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("m")
    model = Model.register(ws, str(tmp_path / "model.txt"), "model")
    settings = AksEndpoint.deploy_configuration(
        cpu_cores=1, memory_gb=1, version_name="blue", traffic_percentile=20, auth_enabled=False, tags={"stage": "test"}
    )
    endpoint = Model.deploy(ws, "colours", [model], saying(tmp_path, "one"), settings)
    endpoint.wait_for_deployment()
    assert isinstance(endpoint, AksEndpoint)
    assert isinstance(Webservice(ws, "colours"), AksEndpoint)
    assert shares(endpoint) == {"blue": (20, 100, True)}
    assert answers(endpoint) == {"one": 20}
    with pytest.raises(WebserviceException, match="no version but blue"):
        endpoint.delete_version("blue")
    with pytest.raises(WebserviceException, match="cannot have 81 percent: the others have blue 20"):
        endpoint.create_version("green", [model], saying(tmp_path, "greedy"), traffic_percentile=81)

    endpoint.create_version("green", [model], saying(tmp_path, "two"), traffic_percentile=40, tags={"new": "yes"})
    endpoint.wait_for_deployment()
    assert shares(endpoint) == {"blue": (20, 60, True), "green": (40, 40, False)}
    assert endpoint.versions["green"].tags == {"new": "yes"}
    found = answers(endpoint, 300)  # 120 of green are expected, with a standard deviation of 8.5
    assert set(found) == {"one", "two"} and 60 < found["two"] < 180, found
    with pytest.raises(WebserviceException, match="has a version 'green'"):
        endpoint.create_version("green", [model])
    with pytest.raises(WebserviceException, match="has no version 'red'") as caught:
        endpoint.update_version("red", traffic_percentile=10)
    assert "blue, green" in str(caught.value.hint)

    run = endpoint.versions["green"].number
    endpoint.update_version("green", traffic_percentile=80, is_default=True, is_control_version_type=True)
    assert shares(endpoint) == {"blue": (20, 20, False), "green": (80, 80, True)}
    endpoint.update_version("blue", traffic_percentile=0, description="the old one")
    wait_until(lambda: answers(endpoint) == {"two": 20})
    green = endpoint.versions["green"]
    assert (green.number, green.version_type, green.tags) == (run, "Control", {"new": "yes"})

    endpoint.update_version("green", inference_config=saying(tmp_path, "three"))
    endpoint.wait_for_deployment()
    wait_until(lambda: answers(endpoint) == {"three": 20})
    green = endpoint.versions["green"]
    assert green.number > run and (green.tags, green.version_type) == ({"new": "yes"}, "Control")
    endpoint.delete_version("green")
    assert shares(endpoint) == {"blue": (0, 100, True)}
    wait_until(lambda: answers(endpoint) == {"one": 20})
    assert endpoint.versions["blue"].description == "the old one"
    assert (endpoint.state, endpoint.tags, list(endpoint.serialize()["versions"])) == (
        "Healthy", {"stage": "test"}, ["blue"],
    )  # fmt: skip
