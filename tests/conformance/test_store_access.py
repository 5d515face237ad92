"""Access to object stores and its errors: the same for small files (obstore) and large ones (signed here)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.data.stores.base import SMALL, FileStore
from footplate.data.stores.registry import open_store
from footplate.domain.codec import to_json
from footplate.domain.data import StoreSpec
from footplate.errors import FootplateError, InvalidInput, NotAllowed, NotFound
from support.azure_requests import account_sas, bearer_token, container_sas, put_blob
from support.indexes import certify
from support.servers import AZURITE_ACCOUNT, AZURITE_KEY, Azurite, MotoS3

LONG_AGO = "2020-01-01T00:00:00Z"
ODD = "a%20b+c&d=é~[x]{y}#?*'\"<>^`|;,$!@()/ü . 名"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(SMALL + 9))
    return path


def check_all_goes(store: FileStore, large: Path, name: str = "deep/x y") -> None:
    store.put(f"{name} small", b"small")
    store.put(f"{name} large", large)
    assert store.read(f"{name} small") == b"small"
    assert store.read(f"{name} large", SMALL) == large.read_bytes()[SMALL:]
    assert {entry.path for page in store.list() for entry in page} == {f"{name} small", f"{name} large"}


def check_nothing_goes(store: FileStore, large: Path, error: type[FootplateError], *, secret: str = "\0") -> None:
    acts: list[Callable[[], object]] = [
        lambda: store.put("x", b"small"),
        lambda: store.put("x", large),
        lambda: list(store.list()),
        store.children,
        lambda: store.read("x"),
    ]
    for act in acts:
        with pytest.raises(error) as caught:
            act()
        assert secret not in repr(caught.value.to_wire())


def with_signature(spec: StoreSpec, sas: str) -> FileStore:
    return open_store(replace(spec, credentials={"sas": sas}))


@pytest.mark.parametrize("before", ["", "?"])
def test_a_shared_access_signature_of_an_account(azurite: Azurite, large: Path, before: str) -> None:
    sas = account_sas(AZURITE_ACCOUNT, AZURITE_KEY)
    check_all_goes(with_signature(azurite.new_store(), before + sas), large)


def test_a_shared_access_signature_of_a_container(azurite: Azurite, large: Path) -> None:
    spec = azurite.new_store()
    sas = container_sas(AZURITE_ACCOUNT, AZURITE_KEY, spec.location["container"])
    check_all_goes(with_signature(spec, sas), large)


def test_foreign_and_expired_signatures_are_rejected(azurite: Azurite, large: Path) -> None:
    spec = azurite.new_store()
    for sas in (
        container_sas(AZURITE_ACCOUNT, AZURITE_KEY, "another"),
        container_sas(AZURITE_ACCOUNT, AZURITE_KEY, spec.location["container"], expiry=LONG_AGO),
        account_sas(AZURITE_ACCOUNT, AZURITE_KEY, expiry=LONG_AGO),
    ):
        check_nothing_goes(with_signature(spec, sas), large, NotAllowed, secret=sas[-40:])


def test_a_read_only_signature_cannot_write(azurite: Azurite, large: Path) -> None:
    spec = azurite.new_store()
    open_store(spec).put("x", b"there")
    store = with_signature(spec, container_sas(AZURITE_ACCOUNT, AZURITE_KEY, spec.location["container"], "rl"))
    assert store.read("x") == b"there"
    for source in (b"small", large):
        with pytest.raises(NotAllowed, match="403 AuthorizationPermissionMismatch"):
            store.put("x", source)
    assert store.read("x") == b"there"


def test_an_s3_session_token(moto: MotoS3, large: Path) -> None:
    check_all_goes(open_store(replace(moto.new_store(), credentials=moto.session)), large)


def test_wrong_s3_credentials_are_rejected(moto: MotoS3, large: Path) -> None:
    alone = {name: value for name, value in moto.session.items() if name != "session_token"}
    for wrong in (alone, {**moto.session, "session_token": "hidden"}, {**moto.keys, "secret_access_key": "hidden"}):
        store = open_store(replace(moto.new_store(), credentials=wrong))
        check_nothing_goes(store, large, NotAllowed, secret="hidden")


PUT = """
import json, pathlib, sys
from footplate.data.stores.registry import open_store
from footplate.domain.codec import from_json
from footplate.domain.codec import to_json
from footplate.domain.data import StoreSpec
from footplate.errors import FootplateError
store = open_store(from_json(StoreSpec, json.loads(sys.stdin.read())))
for source in (b"small", pathlib.Path(sys.argv[1])):
    try:
        print(store.put("x y", source).size)
    except FootplateError as error:
        print(type(error).__name__, error.message, error.hint)
"""


def put_elsewhere(spec: StoreSpec, large: Path, **variables: str) -> list[str]:
    """Upload in a separate process, because certificate authorities are loaded once per process."""
    argv, told = [sys.executable, "-c", PUT, str(large)], json.dumps(to_json(spec))
    done = subprocess.run(argv, input=told, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_token_and_a_private_certificate_authority(azurite_program: Path, large: Path, tmp_path: Path) -> None:
    authority = certify(tmp_path / "certificates")
    server = Azurite(azurite_program, tmp_path / "certificates/server.pem")
    try:
        spec = replace(server.new_store(), credentials={"token": bearer_token()})
        assert put_elsewhere(spec, large, SSL_CERT_FILE=str(authority)) == ["5", str(SMALL + 9)]
        for said in put_elsewhere(spec, large):
            assert "NotAllowed" in said and "certificate" in said and "SSL_CERT_FILE" in said
        wrong = replace(spec, credentials={"token": "hidden"})
        for said in put_elsewhere(wrong, large, SSL_CERT_FILE=str(authority)):
            assert "NotAllowed" in said and "credentials" in said and "hidden" not in said
    finally:
        server.stop()


@pytest.fixture(params=["azurite", "moto"])
def spec(request: pytest.FixtureRequest) -> StoreSpec:
    return request.getfixturevalue(request.param).new_store()


def elsewhere(spec: StoreSpec, name: str) -> FileStore:
    field = "container" if "container" in spec.location else "bucket"
    return open_store(replace(spec, location={**spec.location, field: name}))


def test_unusual_names(spec: StoreSpec, large: Path) -> None:
    check_all_goes(open_store(spec), large, ODD)


@pytest.mark.parametrize("prefix", ["./a//b/", "/a+ü/"])
def test_prefixes_with_extra_slashes(spec: StoreSpec, large: Path, prefix: str) -> None:
    check_all_goes(open_store(replace(spec, location={**spec.location, "prefix": prefix})), large)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\x7f", "not-utf8-\udcff"])
def test_names_that_would_break_listings_are_refused(spec: StoreSpec, large: Path, name: str) -> None:
    store = open_store(spec)
    for source in (b"small", large):
        with pytest.raises(InvalidInput, match="which object stores reject"):
            store.put(f"deep/{name}", source)
    assert list(store.list()) == []


def test_an_invalid_name_in_a_store_is_reported(azurite: Azurite) -> None:
    spec = azurite.new_store()
    put_blob(azurite.endpoint, AZURITE_ACCOUNT, AZURITE_KEY, spec.location["container"], 'a\t"b', b"x")
    with pytest.raises(InvalidInput, match=r'an invalid name: "a\\t\\"b"'):
        list(open_store(spec).list())


def test_a_missing_bucket_is_not_found(spec: StoreSpec, large: Path) -> None:
    check_nothing_goes(elsewhere(spec, "nonesuch"), large, NotFound)
    with pytest.raises(NotFound, match=f"there is no {spec.kind} store 'nonesuch'"):
        list(elsewhere(spec, "nonesuch").list())


def test_a_rejected_request_is_not_reported_as_unreachable(azurite: Azurite, large: Path) -> None:
    check_nothing_goes(elsewhere(azurite.new_store(), "No_Name"), large, InvalidInput)
