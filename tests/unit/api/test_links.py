from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from footplate.api import PREFIX
from footplate.api.links import LIFETIME, file_link, is_signed

PATH = f"{PREFIX}/runs/r_1/files/logs/a b?.txt"


def query_of(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query))


@pytest.fixture
def link() -> str:
    return file_link("http://host:80/", "r_1", "logs/a b?.txt", "secret", now=1000.0)


def test_a_link_is_an_address_without_the_token(link: str) -> None:
    assert link.startswith(f"http://host:80{PREFIX}/runs/r_1/files/logs/a%20b%3F.txt?expires=")
    assert "secret" not in link


def test_a_link_of_a_run_names_its_signer() -> None:
    token = f"my.run_1.2.{'0f' * 32}"
    query = query_of(file_link("http://host", "r_1", "logs/a b?.txt", token, now=1000.0))
    assert query["signer"] == "my.run_1.2" and "0f0f" not in query["signer"]
    assert is_signed(PATH, query, token, now=1000.0)


def test_a_link_is_valid_until_it_expires(link: str) -> None:
    assert is_signed(PATH, query_of(link), "secret", now=1000.0)
    assert not is_signed(PATH, query_of(link), "secret", now=1001.0 + LIFETIME)


@pytest.mark.parametrize("change", [{"expires": "9999999999"}, {"expires": "x"}, {"expires": "²"}, {"signature": ""}])
def test_a_changed_query_is_refused(link: str, change: dict[str, str]) -> None:
    assert not is_signed(PATH, {**query_of(link), **change}, "secret", now=1000.0)


def test_another_path_or_token_is_refused(link: str) -> None:
    assert not is_signed(PATH + "x", query_of(link), "secret", now=1000.0)
    assert not is_signed(PATH, query_of(link), "other", now=1000.0)
    assert not is_signed(PATH, {}, "secret")
