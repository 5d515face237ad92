"""Certificates of services: which are taken, where they are kept, and what is said about the others."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from footplate.domain.serving.endpoints import CertificateFiles
from footplate.errors import InvalidInput
from footplate.services.endpoints.certificates import Certificates
from support.indexes import self_sign


def files(folder: Path, host: str = "models.example.com", days: int = 1, cname: str | None = None) -> CertificateFiles:
    certificate, key = self_sign(folder, host, days)
    return CertificateFiles(certificate.read_text(), key.read_text(), cname)


def test_a_key_is_kept_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    kept = Certificates(tmp_path)
    given = files(tmp_path / "a", cname="models.example.com")
    tls = kept.keep("points", given)
    path = kept.path("points", tls)
    assert given.key.strip() in path.read_text() and given.certificate.strip() in path.read_text()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert 0 < tls.expires - time.time() < 2 * 86400
    assert "PRIVATE" not in repr(tls) and "PRIVATE" not in repr(given)
    assert list(path.parent.iterdir()) == [path]


def test_a_renewed_certificate_replaces_the_old_one(tmp_path: Path) -> None:
    kept = Certificates(tmp_path)
    first, second = (kept.keep("points", files(tmp_path / name)) for name in "ab")
    other = kept.keep("points-two", files(tmp_path / "c"))
    kept.forget("points", but=second)
    found = sorted(path.name for path in kept.path("points", first).parent.iterdir())
    assert found == sorted(kept.path(*each).name for each in (("points", second), ("points-two", other)))
    kept.forget("points")
    assert [path.name for path in kept.path("points", first).parent.iterdir()] == [kept.path("points-two", other).name]


def test_files_that_no_client_would_accept_are_refused(tmp_path: Path) -> None:
    good, other = files(tmp_path / "a"), files(tmp_path / "b")
    loaded = serialization.load_pem_private_key(good.key.encode(), None)
    locked = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    ).decode()
    wrong = {
        "KEY_VALUES_MISMATCH": CertificateFiles(good.certificate, other.key),
        "certificate has expired": files(tmp_path / "c", days=-1),
        "Hostname mismatch": CertificateFiles(good.certificate, good.key, "other.example.com"),
        "cannot be used": CertificateFiles("not a certificate", good.key),
        "the certificate and its key": CertificateFiles(good.certificate, "not a key"),
        "certificate and its key cannot": CertificateFiles(good.certificate, locked),
    }
    for words, given in wrong.items():
        with pytest.raises(InvalidInput, match=words) as caught:
            Certificates(tmp_path).keep("points", given)
        assert caught.value.hint and "PRIVATE" not in str(caught.value)
    assert not list((tmp_path / "serving" / "tls").iterdir())
