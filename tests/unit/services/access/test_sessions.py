from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.errors import NotAllowed
from footplate.services.access.identities import AccessCache
from footplate.services.access.people import PeopleService
from footplate.services.access.person_tokens import PersonTokenService
from footplate.services.access.sessions import LINK, SessionService
from footplate.storage import Storage
from footplate.storage.access.sessions import StoredSession


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Storage]:
    opened = Storage.open(tmp_path / "home")
    yield opened
    opened.close()


def service(store: Storage) -> SessionService:
    cache = AccessCache()
    people = PeopleService(store, cache)
    return SessionService(store, people, PersonTokenService(store, people, cache), cache)


def test_a_code_opens_one_session(store: Storage) -> None:
    sessions = service(store)
    code = sessions.invite()
    session = sessions.redeem(code)
    assert sessions.holder_of(session.cookie, session.secret) is not None
    with pytest.raises(NotAllowed, match="used before"):
        sessions.redeem(code)


@pytest.mark.parametrize("code", ["", "guess"])
def test_a_guessed_code_opens_nothing(store: Storage, code: str) -> None:
    sessions = service(store)
    sessions.invite()
    with pytest.raises(NotAllowed, match="hint: print a new one"):
        sessions.redeem(code)


def test_a_session_needs_both_values_of_the_same_browser(store: Storage) -> None:
    sessions = service(store)
    mine, other = sessions.begin(None, LINK), sessions.begin(None, LINK)
    assert sessions.holder_of(mine.cookie, other.secret) is None
    assert sessions.holder_of(mine.secret, mine.cookie) is None
    assert sessions.holder_of("", "") is None


def test_a_session_survives_the_server_and_ends_for_all(store: Storage) -> None:
    session = service(store).begin(None, LINK)
    sessions = service(store)
    assert sessions.holder_of(session.cookie, session.secret) is not None
    assert sessions.recall(session.cookie, session.secret)
    sessions.end(session.cookie)
    assert sessions.recall(session.cookie, session.secret) is None
    assert sessions.holder_of(session.cookie, session.secret) is None
    assert not sessions.exist()


def test_an_expired_session_is_refused_and_forgotten(store: Storage) -> None:
    sessions = service(store)
    session = sessions.begin(None, LINK)
    [digest] = [sessions.store.sessions.get(each) for each in digests(store)]
    assert digest is not None
    store.sessions.delete(digest.digest)
    store.sessions.add(digest._replace(expires=time.time() - 1))
    assert sessions.holder_of(session.cookie, session.secret) is None
    sessions.begin(None, LINK)
    assert store.sessions.get(digest.digest) is None


def test_the_database_holds_digests_only(store: Storage) -> None:
    session = service(store).begin(None, LINK)
    [stored] = [store.sessions.get(each) for each in digests(store)]
    assert isinstance(stored, StoredSession)
    assert session.cookie not in stored and session.secret not in stored


def digests(store: Storage) -> list[str]:
    with store.database.read() as connection:
        return [row[0] for row in connection.exec_driver_sql("SELECT digest FROM sessions")]
