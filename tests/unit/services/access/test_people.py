"""People, roles and tokens over a real store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.domain.access.people import EVERYWHERE, AuditEntry, AuditQuery, PersonView
from footplate.errors import Conflict, FootplateError, InvalidInput, NotAllowed, NotFound
from footplate.services.access.identities import AccessCache, Identity
from footplate.services.access.people import PeopleService
from footplate.services.access.person_tokens import PREFIX, PersonTokenService
from footplate.services.access.server_key import SERVER_KEY, ServerKey
from footplate.services.access.sessions import PROVIDER, SessionService
from footplate.services.workspaces import WorkspaceService
from footplate.storage import Storage


class World:
    def __init__(self, store: Storage) -> None:
        cache = AccessCache()
        self.store = store
        self.people = PeopleService(store, cache)
        self.tokens = PersonTokenService(store, self.people, cache)
        self.sessions = SessionService(store, self.people, self.tokens, cache)
        self.key = ServerKey(store, cache)
        self.workspace = WorkspaceService(store).create("vision", "local", "local").id

    def token_of(self, name: str, **limits: object) -> str:
        return self.tokens.create(name, "laptop", **limits).token  # type: ignore[arg-type]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = Storage.open(tmp_path / "home")
    made = World(store)
    made.people.add("anna")
    yield made
    store.close()


def test_a_new_person_has_no_role(world: World) -> None:
    identity = world.tokens.holder_of(world.token_of("anna"))
    assert identity is not None
    assert (identity.name, dict(identity.roles), identity.owns_server) == ("anna", {}, False)


def test_names_are_given_once_and_checked(world: World) -> None:
    with pytest.raises(Conflict, match="never given twice"):
        world.people.add("anna")
    for name in ("", "a b", "a/b", "x" * 129, "new\nline"):
        with pytest.raises(InvalidInput, match="cannot be the name"):
            world.people.add(name)


def test_roles_change_what_a_verified_token_may_do_at_once(world: World) -> None:
    token = world.token_of("anna")
    world.tokens.holder_of(token)
    world.people.grant(world.workspace, "user", "anna", "contributor")
    assert world.tokens.recall(token) is None
    identity = world.tokens.holder_of(token)
    assert identity is not None and identity.role_in(world.workspace) == "contributor"
    world.people.withdraw(world.workspace, "user", "anna")
    identity = world.tokens.holder_of(token)
    assert identity is not None and identity.role_in(world.workspace) is None


def test_the_highest_of_own_and_group_roles_counts(world: World) -> None:
    groups = tuple(f"group-{number}" for number in range(1200))
    world.people.add("ben", groups=groups)
    world.people.grant(world.workspace, "user", "ben", "reader")
    world.people.grant(world.workspace, "group", "group-1199", "owner")
    world.people.grant(EVERYWHERE, "group", "group-3", "contributor")
    identity = world.people.submitter("ben")
    assert identity.role_in(world.workspace) == "owner"
    assert identity.role_in("another") == "contributor"
    assert not identity.owns_server


def test_a_token_is_stored_as_a_digest_and_shown_once(world: World) -> None:
    new = world.tokens.create("anna", "laptop")
    assert new.token.startswith(PREFIX)
    assert new.token not in repr(new)
    with world.store.database.read() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM access_tokens").all()
    assert new.token not in repr(rows) and new.token.removeprefix(PREFIX) not in repr(rows)


def test_a_use_is_noted(world: World) -> None:
    token = world.token_of("anna")
    assert world.tokens.list("anna")[0].last_used is None
    world.tokens.holder_of(token)
    used = world.tokens.list("anna")[0].last_used
    assert used is not None and abs(used - time.time()) < 60


@pytest.mark.parametrize("wrong", ["", "fpt_", "fpt_wrong", "FPT_x", "r1.1.abc"])
def test_wrong_tokens_belong_to_nobody(world: World, wrong: str) -> None:
    world.token_of("anna")
    assert world.tokens.holder_of(wrong) is None


def test_a_revoked_token_and_its_sessions_end_at_once(world: World) -> None:
    new = world.tokens.create("anna", "laptop")
    session = world.sessions.begin(world.tokens.holder_of(new.token), "token")
    assert world.sessions.holder_of(session.cookie, session.secret) is not None
    world.tokens.revoke(new.view.id)
    assert world.tokens.recall(new.token) is None and world.tokens.holder_of(new.token) is None
    assert world.sessions.recall(session.cookie, session.secret) is None
    assert world.sessions.holder_of(session.cookie, session.secret) is None
    with pytest.raises(NotFound):
        world.tokens.revoke(new.view.id)


def test_a_disabled_person_has_no_tokens_and_sessions_until_enabled(world: World) -> None:
    token = world.token_of("anna")
    session = world.sessions.begin(world.people.identity(world.people.get("anna"), credential=PROVIDER), PROVIDER)
    world.people.grant(world.workspace, "user", "anna", "owner")
    world.people.change("anna", disabled=True)
    assert world.tokens.holder_of(token) is None
    assert world.sessions.holder_of(session.cookie, session.secret) is None
    assert world.people.submitter("anna").role_in(world.workspace) is None
    with pytest.raises(Conflict, match="disabled"):
        world.token_of("anna")
    world.people.change("anna", disabled=False)
    assert world.tokens.holder_of(token) is not None


def test_an_ended_token_is_refused(world: World) -> None:
    token = world.token_of("anna", expires=time.time() + 3600)
    assert world.tokens.holder_of(token) is not None
    with world.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE access_tokens SET expires = 1")
    assert world.tokens.holder_of(token) is None
    for expires in (time.time() - 1, float("nan"), float("inf")):
        with pytest.raises(InvalidInput):
            world.token_of("anna", expires=expires)


def test_a_session_ends_with_its_token(world: World) -> None:
    ends = time.time() + 60
    session = world.sessions.begin(world.tokens.holder_of(world.token_of("anna", expires=ends)), "token")
    assert session.expires == ends


@pytest.mark.parametrize(
    ("limits", "here", "elsewhere"),
    [({}, "owner", "reader"), ({"read_only": True}, "reader", "reader"), ({"workspace": "here"}, "owner", None)],
)
def test_a_token_leaves_no_more_than_its_limits(
    world: World, limits: dict[str, object], here: str, elsewhere: str | None
) -> None:
    world.people.grant(world.workspace, "user", "anna", "owner")
    world.people.grant(EVERYWHERE, "user", "anna", "reader")
    if "workspace" in limits:
        limits = {"workspace": world.workspace}
    identity = world.tokens.holder_of(world.token_of("anna", **limits))
    assert identity is not None
    assert (identity.role_in(world.workspace), identity.role_in("another")) == (here, elsewhere)


def test_an_owner_of_the_server_with_a_limited_token_is_none(world: World) -> None:
    world.people.grant(EVERYWHERE, "user", "anna", "owner")
    for limits in ({"read_only": True}, {"workspace": world.workspace}):
        identity = world.tokens.holder_of(world.token_of("anna", **limits))
        assert identity is not None and not identity.owns_server


def held(world: World, **limits: object) -> Identity:
    identity = world.tokens.holder_of(world.token_of("anna", **limits))
    assert identity is not None
    return identity


def test_a_token_creates_no_token_that_allows_more_or_lives_longer(world: World) -> None:
    world.people.add("ben")
    for limits in ({"read_only": True}, {"workspace": world.workspace}):
        with pytest.raises(NotAllowed, match="creates no tokens"):
            world.tokens.create("anna", "more", creator=held(world, **limits))
    with pytest.raises(NotAllowed, match="tokens of 'ben'"):
        world.tokens.create("ben", "his", creator=held(world))
    ends = time.time() + 60
    later = world.tokens.create("anna", "longer", time.time() + 9999, creator=held(world, expires=ends))
    assert later.view.expires == ends
    world.people.grant(EVERYWHERE, "user", "anna", "owner")
    assert world.tokens.create("ben", "his", creator=held(world)).view.person == "ben"


def test_switching_off_the_server_key_ends_its_sessions(world: World) -> None:
    by_key, by_link = world.sessions.begin(None, SERVER_KEY), world.sessions.redeem(world.sessions.invite())
    assert world.key.is_accepted() and world.key.recall() is True
    world.key.switch(False)
    assert world.key.recall() is None and not world.key.is_accepted()
    assert world.sessions.holder_of(by_key.cookie, by_key.secret) is None
    assert world.sessions.holder_of(by_link.cookie, by_link.secret) is not None
    world.key.switch(True)
    assert world.key.is_accepted()


def test_roles_need_known_people_workspaces_and_names(world: World) -> None:
    for workspace, kind, name, role in (
        (world.workspace, "user", "nobody", "reader"),
        ("unknown", "user", "anna", "reader"),
        (world.workspace, "team", "anna", "reader"),
        (world.workspace, "user", "anna", "admin"),
        (world.workspace, "group", "", "reader"),
    ):
        with pytest.raises((NotFound, InvalidInput)):
            world.people.grant(workspace, kind, name, role)
    with pytest.raises(NotFound, match="has no role"):
        world.people.withdraw(world.workspace, "user", "anna")


def test_the_roles_of_a_deleted_workspace_are_deleted(world: World) -> None:
    world.people.grant(world.workspace, "user", "anna", "owner")
    world.store.workspace_deletion.delete(world.workspace, "vision")
    assert world.people.roles_in(world.workspace) == []


def test_a_name_of_the_provider_is_found_by_its_subject_only(world: World) -> None:
    world.store.people.add(PersonView("ben", "person", 0.0), subject="https://id.example|7")
    found = world.store.people.find_by_subject("https://id.example|7")
    assert found is not None and (found.name, found.signs_in) == ("ben", True)
    assert world.store.people.find_by_subject("ben") is None
    assert not world.people.get("anna").signs_in


@pytest.mark.parametrize("change", ["UPDATE audit SET who = 'ben'", "DELETE FROM audit"])
def test_the_audit_log_is_append_only(world: World, change: str) -> None:
    world.store.audit.add(AuditEntry(0, 1.0, "anna", "cancel_run", "POST", "cancel", 200, "local", run="r"))
    with pytest.raises(FootplateError, match="append-only"), world.store.database.write() as connection:
        connection.exec_driver_sql(change)
    assert [entry.who for entry in world.store.audit.list(AuditQuery(), 10, None)] == ["anna"]
