from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.errors import NotAllowed
from footplate.services.access.sessions import SessionService
from footplate.storage import Storage
from footplate.storage.sessions import StoredSession


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Storage]:
    opened = Storage.open(tmp_path / "home")
    yield opened
    opened.close()


def test_a_code_opens_one_session(store: Storage) -> None:
    sessions = SessionService(store)
    code = sessions.invite()
    session = sessions.redeem(code)
    assert sessions.is_valid(session.cookie, session.secret)
    with pytest.raises(NotAllowed, match="used before"):
        sessions.redeem(code)


@pytest.mark.parametrize("code", ["", "guess"])
def test_a_guessed_code_opens_nothing(store: Storage, code: str) -> None:
    sessions = SessionService(store)
    sessions.invite()
    with pytest.raises(NotAllowed, match="hint: print a new one"):
        sessions.redeem(code)


def test_a_session_needs_both_values_of_the_same_browser(store: Storage) -> None:
    sessions = SessionService(store)
    mine, other = sessions.begin(), sessions.begin()
    assert not sessions.is_valid(mine.cookie, other.secret)
    assert not sessions.is_valid(mine.secret, mine.cookie)
    assert not sessions.is_valid("", "")


def test_a_session_survives_the_server_and_ends_for_all(store: Storage) -> None:
    session = SessionService(store).begin()
    sessions = SessionService(store)
    assert sessions.is_valid(session.cookie, session.secret)
    assert sessions.recall(session.cookie, session.secret)
    sessions.end(session.cookie)
    assert not sessions.recall(session.cookie, session.secret)
    assert not sessions.is_valid(session.cookie, session.secret)
    assert not sessions.exist()


def test_an_expired_session_is_refused_and_forgotten(store: Storage) -> None:
    sessions = SessionService(store)
    session = sessions.begin()
    [digest] = [sessions.store.sessions.get(each) for each in digests(store)]
    assert digest is not None
    store.sessions.delete(digest.digest)
    store.sessions.add(digest._replace(expires=time.time() - 1))
    assert not sessions.is_valid(session.cookie, session.secret)
    sessions.begin()
    assert store.sessions.get(digest.digest) is None


def test_the_database_holds_digests_only(store: Storage) -> None:
    session = SessionService(store).begin()
    [stored] = [store.sessions.get(each) for each in digests(store)]
    assert isinstance(stored, StoredSession)
    assert session.cookie not in stored and session.secret not in stored


def digests(store: Storage) -> list[str]:
    with store.database.read() as connection:
        return [row[0] for row in connection.exec_driver_sql("SELECT digest FROM sessions")]
