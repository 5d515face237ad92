from __future__ import annotations

import os
import stat

import pytest

from footplate import client
from footplate.client.credentials import forget_token, store_token, stored_token
from footplate.errors import InvalidInput, NotAllowed


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_HOME", str(tmp_path))
    for name in ("FOOTPLATE_TOKEN", "FOOTPLATE_ENDPOINT", "FOOTPLATE_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_token_is_stored_for_its_server_only_and_privately(home):
    path = store_token("https://train.example/base", "fpt_one")
    store_token("http://train.example", "fpt_two")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stored_token("https://train.example:443") == "fpt_one"
    assert stored_token("http://train.example:80") == "fpt_two"
    for other in ("https://train.example:8443", "https://example", "https://train.example.evil"):
        assert stored_token(other) is None
    assert forget_token("https://train.example") and not forget_token("https://train.example")
    assert stored_token("http://train.example") == "fpt_two"


def test_a_stored_token_is_sent_unless_the_environment_has_one(monkeypatch):
    store_token("http://train.example", "fpt_stored")
    assert client.connect(endpoint="http://train.example").token == "fpt_stored"
    assert client.connect(endpoint="http://other.example").token is None
    assert client.connect(endpoint="http://train.example", token="fpt_given").token == "fpt_given"
    monkeypatch.setenv("FOOTPLATE_TOKEN", "fpt_variable")
    assert client.connect(endpoint="http://train.example").token == "fpt_variable"


def test_a_job_does_not_use_the_tokens_of_people(monkeypatch):
    store_token("http://train.example", "fpt_stored")
    monkeypatch.setenv("FOOTPLATE_RUN_ID", "r1")
    assert client.connect(endpoint="http://train.example").token is None


def test_an_open_or_damaged_file_is_refused():
    path = store_token("http://train.example", "fpt_stored")
    os.chmod(path, 0o644)
    with pytest.raises(NotAllowed, match="open to other users"):
        stored_token("http://train.example")
    with open(path, "w") as file:
        file.write("{")
    os.chmod(path, 0o600)
    with pytest.raises(InvalidInput, match="not valid JSON"):
        stored_token("http://train.example")
