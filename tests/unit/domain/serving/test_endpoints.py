"""Checks of services and versions: every mistake is named before anything starts."""

from __future__ import annotations

import pytest

from footplate.domain.serving.endpoints import (
    Replicas,
    RequestLimits,
    Rollback,
    ServiceSettings,
    VersionSpec,
    check_service_name,
    check_settings,
    check_version,
    model_id,
)
from footplate.errors import InvalidInput


@pytest.mark.parametrize("name", ["ab", "Abc", "1abc", "abc-", "a" * 33, "a_b", "über"])
def test_a_bad_service_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a service name"):
        check_service_name(name)


@pytest.mark.parametrize("name", ["abc", "a-1", "a" * 32])
def test_a_good_service_name_is_accepted(name: str) -> None:
    check_service_name(name)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (ServiceSettings(kind="Cloud"), "'Cloud'"),
        (ServiceSettings(auth="password"), "'password'"),
        (ServiceSettings(port=70000), "70000"),
        (ServiceSettings(rollback=Rollback(seconds=-1)), "seconds is -1"),
        (ServiceSettings(limits=RequestLimits(timeout_seconds=0)), "timeout_seconds is 0"),
        (ServiceSettings(collect_share=2), "collect_share is 2"),
        (ServiceSettings(cors=("app.example.com",)), "'app.example.com' is not the origin"),
        (ServiceSettings(cors=("https://app.example.com/",)), "is not the origin of a web page"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: ServiceSettings, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_settings(settings)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (VersionSpec(), "0 models"),
        (VersionSpec(("a:1", "b:1")), "2 models"),
        (VersionSpec(("a:1",), entry_script="score.py"), "no source folder"),
        (VersionSpec(("a:1",), cpu_cores=0), "cpu_cores is 0"),
        (VersionSpec(("a:1",), memory_gb=-1), "memory_gb is -1"),
        (VersionSpec(("a:1",), gpus=-1), "gpus is -1"),
        (VersionSpec(("a:1",), replicas=Replicas(3, 2)), "replicas are 3 to 2"),
        (VersionSpec(("a:1",), replicas=Replicas(1, 1, queue_per_replica=0)), "queue_per_replica is 0"),
    ],
)
def test_a_version_that_cannot_start_is_refused(spec: VersionSpec, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_version(spec)


def test_a_model_id_has_a_name_and_a_number() -> None:
    assert model_id("a.b:12") == ("a.b", 12)
    for text in ("a", "a:", ":1", "a:x"):
        with pytest.raises(InvalidInput, match="is not the id of a model"):
            model_id(text)
