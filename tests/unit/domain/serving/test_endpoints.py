"""Checks of services and versions: every mistake is named before anything starts."""

from __future__ import annotations

import pytest

from footplate.domain.serving.endpoints import (
    READY,
    STOPPED,
    EndpointRecord,
    Replicas,
    RequestLimits,
    Rollback,
    ServiceSettings,
    VersionRecord,
    VersionSpec,
    check_default,
    check_goal,
    check_new_version,
    check_service_name,
    check_settings,
    check_version,
    find_version,
    model_id,
)
from footplate.errors import InvalidInput, NotFound


def named(number: int, name: str | None, goal: float, state: str = READY) -> VersionRecord:
    return VersionRecord(number, f"run{number}", VersionSpec(("m:1",), name=name), 0.0, state, goal=goal)


def endpoint(*versions: VersionRecord, default: str | None = "a") -> EndpointRecord:
    return EndpointRecord("w", "svc", "svc", 0.0, 0.0, ServiceSettings(default_version=default), versions)


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


def test_the_shares_of_versions_with_names_are_at_most_100_together() -> None:
    record = endpoint(named(1, "a", 60), named(2, "b", 30), named(3, "c", 90, STOPPED))
    check_new_version(record, named(4, "d", 10))
    check_new_version(record, named(4, "b", 40))  # it replaces the one of its name
    with pytest.raises(InvalidInput, match=r"'d' cannot have 11 percent: the others have a 60, b 30") as caught:
        check_new_version(record, named(4, "d", 11))
    assert caught.value.hint
    with pytest.raises(InvalidInput, match="is 101"):
        check_goal(101)


def test_versions_with_and_without_names_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="would have a name and others none"):
        check_new_version(endpoint(named(1, "a", 60)), named(2, None, 10))
    with pytest.raises(InvalidInput, match="would have a name and others none"):
        check_new_version(endpoint(named(1, None, 100)), named(2, "a", 10))


@pytest.mark.parametrize("name", ["Blue", "1", "a" * 33, ""])
def test_a_bad_name_of_a_version_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not the name of a version"):
        check_version(VersionSpec(("m:1",), name=name))


def test_unknown_versions_are_named_together_with_the_known_ones() -> None:
    record = endpoint(named(1, "a", 60), named(2, "b", 30, STOPPED))
    assert find_version(record, 1).spec.name == "a"
    with pytest.raises(NotFound, match="no version 2") as caught:
        find_version(record, 2)
    assert "its versions are: 1" in str(caught.value.hint)
    check_default(record)
    with pytest.raises(InvalidInput, match="no version 'b'"):
        check_default(endpoint(*record.versions, default="b"))
