"""Passwords and tokens are taken out of addresses."""

from __future__ import annotations

import pytest

from footplate.domain.specs import EnvironmentSpec, RunSpec
from footplate.environments.url_credentials import (
    NO_LOGINS,
    Logins,
    extract_definition_logins,
    extract_logins,
    extract_run_logins,
)


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("--index-url https://me:secret@host/simple", "--index-url https://host/simple"),
        ("--extra-index-url=https://secret@host:8080/simple/", "--extra-index-url=https://host:8080/simple/"),
        ("x @ git+https://secret@host/me/x.git@v1#egg=x", "x @ git+https://host/me/x.git@v1#egg=x"),
        (
            "x @ https://me:secret@host/x-1.0.whl ; python_version > '3'",
            "x @ https://host/x-1.0.whl ; python_version > '3'",
        ),
        ("https://host/t/secret/x-1.0.whl", None),  # of pip: a path like any other
        ("x @ git+ssh://git@host/me/x.git", None),
        ("--index-url https://${USER}:${PASSWORD}@host/simple", None),
        ("numpy==1.26  # me@host", None),
    ],
)
def test_logins_are_taken_out_of_requirement_lines(line: str, bare: str | None) -> None:
    spec, found = extract_logins(EnvironmentSpec(builder="venv", requirements=(line, "six")))
    assert spec.requirements == (bare or line, "six")
    assert (found == NO_LOGINS) == (bare is None)
    assert found.reveal(spec.requirements[0]) == line
    assert bare is None or "secret" not in found.conceal(f"cannot fetch {line} (secret)")


@pytest.mark.parametrize(
    ("channel", "bare"),
    [
        ("https://conda.anaconda.org/t/secret/mine", "https://conda.anaconda.org/mine"),
        ("https://me:secret@host/channels/mine/", "https://host/channels/mine/"),
        ("https://me:secret@host/t/secret/mine", "https://host/mine"),
        ("conda-forge", None),
        ("https://host/t", None),
    ],
)
def test_channels(channel: str, bare: str | None) -> None:
    conda = {"channels": [channel], "dependencies": [f"{channel}::numpy=1.26", "six"], "pip": ["six"]}
    spec, found = extract_logins(EnvironmentSpec(builder="conda", options={"conda": conda, "docker": None}))
    kept = spec.options["conda"]
    assert kept["channels"] == [bare or channel] and kept["dependencies"] == [f"{bare or channel}::numpy=1.26", "six"]
    assert "secret" not in str(spec) and "secret" not in repr(found)
    definition = {"python": {"condaDependencies": {"channels": [channel]}}, "version": 1}
    changed, same = extract_definition_logins(definition)
    assert changed["python"]["condaDependencies"]["channels"] == [bare or channel] and same == found
    run = RunSpec("e", environment=EnvironmentSpec(builder="conda", options={"conda": conda}), definition=definition)
    assert "secret" not in str(extract_run_logins(run)[0]) and extract_run_logins(run)[0].definition == changed


def test_an_address_with_a_longer_path_is_another_address() -> None:
    known = Logins(
        {"https://host/mine": "https://me:secret@host/mine", "https://host/mine/x": "https://you:other@host/mine/x"}
    )
    assert known.reveal("https://host/mine2 https://host/mine.git") == "https://host/mine2 https://host/mine.git"
    assert known.reveal("-f https://host/mine/y") == "-f https://me:secret@host/mine/y"
    assert known.reveal("https://host/mine/x/z") == "https://you:other@host/mine/x/z"


def test_the_password_of_an_image_registry_is_taken_out() -> None:
    registry = {"address": "https://me:s%2Fcret@my.example:5000", "username": "me"}
    docker = {"base_image": "a/b:1", "registry": registry}
    spec, found = extract_logins(EnvironmentSpec(builder="venv", requirements=("six",), options={"docker": docker}))
    assert spec.options["docker"] == {**docker, "registry": {**registry, "address": "https://my.example:5000"}}
    assert found.user_of("https://my.example:5000") == ("me", "s/cret")
    assert found.user_of("https://other.example") is None
    assert found.conceal("wrong: s/cret, s%2Fcret") == "wrong: ***, ***"
    assert Logins({"https://host": "https://token@host"}).user_of("https://host") is None
    bare, none = extract_logins(spec)
    assert (bare, none) == (spec, NO_LOGINS)
