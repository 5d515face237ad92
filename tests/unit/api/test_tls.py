from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from footplate import environ
from footplate.api.tls import encode_authority, server_context
from footplate.errors import InvalidInput
from support.indexes import certify


def subjects(context: ssl.SSLContext) -> list[object]:
    return [each.get("subject") for each in context.get_ca_certs()]


def test_a_private_authority_extends_those_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environ.CA, raising=False)
    usual = subjects(server_context())
    monkeypatch.setenv(environ.CA, encode_authority(str(certify(tmp_path))))
    extended = subjects(server_context())
    assert len(extended) == len(usual) + 1
    assert [each for each in extended if "an authority of the tests" in str(each)]


@pytest.mark.parametrize("content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n", None])
def test_a_file_without_certificates_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidInput, match="cannot be read as certificates"):
        encode_authority(str(path))


def test_a_file_with_all_authorities_of_the_world_is_refused(tmp_path: Path) -> None:
    authority = certify(tmp_path)
    authority.write_text(authority.read_text() * 200)
    with pytest.raises(InvalidInput, match="larger than 64 KiB"):
        encode_authority(str(authority))
