from __future__ import annotations

from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.index_policy import OWN, check
from footplate.errors import NotAllowed

ALLOWED = ("https://pypi.org/simple", "https://Host.example.com:8443/team/", "file:///srv/wheels")


def spec(*lines: str, **conda: list[str]) -> EnvironmentSpec:
    return EnvironmentSpec(builder="venv", requirements=lines, options={"conda": conda} if conda else {})


@pytest.mark.parametrize(
    "line",
    [
        "numpy==1.26.4", "numpy[extra]; python_version < '3.9'", "--index-url https://pypi.org/simple/",
        "-i https://pypi.org/simple", "thing @ https://host.example.com:8443/team/a+b/thing-1.0.tar.gz",
        "git+https://host.example.com:8443/team/repo.git@main", "--pre", "--find-links file:///srv/wheels/more",
        "-f=file:///srv/wheels",
    ],
)  # fmt: skip
def test_addresses_below_an_allowed_one_pass(line: str) -> None:
    check(spec(line), ALLOWED)
    check(spec(pip=[line]), ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://other.example.com/simple", "--index-url=https://pypi.org/simple-not", "-ihttp://10.0.0.1/",
        "--extra-index-url http://pypi.org/simple", "thing @ http://169.254.169.254/latest/meta-data/thing-1.0.zip",
        "https://pypi.org/simple/../private/thing-1.0.tar.gz", "https://pypi.org/simple/%2e%2e/private/x-1.0.zip",
        "git+https://github.com/a/b", "git+ssh://git@host.example.com:8443/team/repo.git", "--find-links /etc",
        "--index-url https://${HOST}/simple", "https://pypi.org@evil.example.com/simple/x-1.0.tar.gz",
        "thing @ file:///etc/thing-1.0.tar.gz", "/etc/thing-1.0.tar.gz", "-c /etc/passwd", "-c http://10.0.0.1/c.txt",
        "--find-links 10.0.0.1", "thing@http://10.0.0.1/thing-1.0.zip",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(line: str) -> None:
    for named in (spec(line), spec(pip=["numpy", line])):
        with pytest.raises(NotAllowed, match="this server fetches only"):
            check(named, ALLOWED)
    check(spec(line), ("any",))


def test_channels_without_an_address_are_the_servers_own() -> None:
    check(spec(channels=["conda-forge", "defaults"], dependencies=["numpy", "conda-forge::scipy"]), OWN)
    for conda in ({"channels": ["https://conda.example.com/x"]}, {"dependencies": ["https://a.example.com/x::numpy"]}):
        with pytest.raises(NotAllowed, match="only its own indexes"):
            check(spec(**conda), OWN)


def test_a_server_resolves_no_other_address(tmp_path: Path) -> None:
    settings = ResolverSettings(tmp_path, indexes=ALLOWED)
    wanted = spec("--index-url https://me:secret@other.example.com/simple", "numpy")
    with pytest.raises(NotAllowed, match=r"names https://other\.example\.com/simple, and") as error:
        environments.resolve(wanted, settings, lambda _line: None)
    assert "secret" not in str(error.value) and "settings.ini" in (error.value.hint or "")
