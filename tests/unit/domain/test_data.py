from __future__ import annotations

import pytest

from footplate.domain.codec import from_json, to_json
from footplate.domain.data import STORE_KINDS, StoreEntry, StoreSpec, place
from footplate.errors import InvalidInput

WHOLE = {
    "folder": {"path": "/data"},
    "azure_blob": {"account": "a", "container": "c"},
    "adls_gen2": {"account": "a", "container": "c"},
    "azure_file": {"account": "a", "share": "s"},
    "s3": {"bucket": "b"},
    "gcs": {"bucket": "b"},
    "http": {},
    "server": {"url": "http://host:8000", "workspace": "w", "datastore": "d"},
    "sql": {"dialect": "sqlite", "database": "/data/shop.db"},
}


@pytest.mark.parametrize("kind", STORE_KINDS)
def test_every_kind_of_store_checks_its_fields(kind: str) -> None:
    spec = StoreSpec(kind, WHOLE[kind])
    assert spec.check() is spec
    for name in WHOLE[kind]:
        with pytest.raises(InvalidInput, match=f"needs {name}"):
            StoreSpec(kind, {**WHOLE[kind], name: ""}).check()
    with pytest.raises(InvalidInput, match="has no 'colour' in its location"):
        StoreSpec(kind, {**WHOLE[kind], "colour": "red"}).check()


def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    with pytest.raises(InvalidInput) as caught:
        StoreSpec("s3", {"bucket": "b", "sas": "hidden"}, {}).check()
    assert "hidden" not in str(caught.value)
    with pytest.raises(InvalidInput, match="'passwort' in its credentials"):
        StoreSpec("http", {}, {"passwort": "hidden"}).check()
    with pytest.raises(InvalidInput, match="the kinds are"):
        StoreSpec("ftp").check()


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("http", "url", "https://user:hidden@host/data"),
        ("http", "url", "https://host/data?sig=hidden"),
        ("s3", "endpoint", "http://user:hidden@127.0.0.1:9"),
        ("s3", "endpoint", "user:hidden@127.0.0.1:9"),
        ("azure_blob", "endpoint", "https://host/#hidden"),
        ("sql", "host", "user:hidden@host"),
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(kind: str, field: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"the {field} of a store of kind") as caught:
        StoreSpec(kind, {**WHOLE[kind], field: value}).check()
    assert "hidden" not in repr(caught.value.to_wire())


@pytest.mark.parametrize("value", ["localhost:9000", "ftp://host", "http://", "http://host:port", "http://a b", "x"])
def test_an_invalid_web_address_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="is not a web address"):
        StoreSpec("s3", {"bucket": "b", "endpoint": value}).check()


def test_valid_addresses_are_accepted() -> None:
    for value in ("http://127.0.0.1:10000/devstoreaccount1", "https://[::1]:9000", "https://minio.example.org/"):
        StoreSpec("azure_blob", {**WHOLE["azure_blob"], "endpoint": value}).check()


def test_credentials_are_not_part_of_the_identity() -> None:
    one, other = (StoreSpec("s3", {"bucket": "b"}, {"secret_access_key": secret}) for secret in ("hidden1", "hidden2"))
    assert one == other
    assert one.identity() == other.identity()
    assert one.identity() != StoreSpec("gcs", {"bucket": "b"}).identity()
    assert "hidden" not in f"{one} {one!r} {vars(one).keys()}"
    assert from_json(StoreSpec, to_json(one)).credentials == {"secret_access_key": "hidden1"}


def test_an_item_knows_where_its_bytes_are() -> None:
    entry = StoreEntry("data/a.csv", 3, "etag", 1.5, "md5:x")
    assert place(entry, "a.csv").source == "data/a.csv"
    assert place(entry, "data/a.csv").path == ""
    assert place(entry, "a.csv", "other").entry() == entry
