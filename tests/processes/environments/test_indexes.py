"""A company's mirror that works with pip works here: real indexes, with a password or with their own certificate."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.url_credentials import extract_logins
from footplate.environments.venv import VenvBuilder
from footplate.errors import InvalidInput
from support import indexes
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SPEC = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("tiny",))
LOGIN = "someone:s3cret"


@pytest.fixture
def mirror(wheels: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Wheels that only an index has, without the settings of this machine's user."""
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "SSL_CERT_FILE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return wheels


def build(tmp_path: Path) -> list[str]:
    """Lock and build; return the lines of both logs."""
    said = list[str]()
    lock = VenvBuilder().lock(SPEC, ResolverSettings(tmp_path / "e"), said.append)
    python = VenvBuilder().build(lock, tmp_path / "e", said.append).argv[0]
    done = subprocess.run(
        [python, "-c", "import tiny; print(tiny.version)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2.0"
    assert "s3cret" not in str(lock)
    return said


def test_a_password_in_netrc_opens_the_index(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1\nlogin someone\npassword s3cret\n")
    with indexes.serve(mirror, LOGIN) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(InvalidInput, match="401"):
            build(tmp_path)
        monkeypatch.setenv("NETRC", str(netrc))
        assert "s3cret" not in "\n".join(build(tmp_path))
        assert any(path.endswith(".whl") for path in index.asked)


def test_the_users_netrc_and_pip_conf_apply(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login someone password s3cret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.delenv("PIP_CONFIG_FILE")
    with indexes.serve(mirror, LOGIN) as index:
        (tmp_path / ".config" / "pip").mkdir(parents=True)
        (tmp_path / ".config" / "pip" / "pip.conf").write_text(f"[global]\nindex-url = {index.url}\n")
        build(tmp_path)


def test_a_password_in_a_keyring_opens_the_index(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = tmp_path / "bin" / "keyring"
    keyring.parent.mkdir()
    keyring.write_text('#!/bin/sh\n[ "$1" = get ] && echo s3cret\n')
    keyring.chmod(0o755)
    monkeypatch.setenv("PATH", f"{keyring.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PIP_KEYRING_PROVIDER", "subprocess")
    with indexes.serve(mirror, LOGIN) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("http://", "http://someone@"))
        build(tmp_path)


def test_a_password_in_requirements_is_used_and_never_shown(mirror: Path, tmp_path: Path) -> None:
    with indexes.serve(mirror, LOGIN) as index:
        whole = index.url.replace("http://", f"http://{LOGIN}@")
        file = f"{whole.removesuffix('/simple')}/files/tiny-2.0-py3-none-any.whl"
        for lines in ((f"--index-url {whole}", "tiny"), (f"--index-url={whole}", f"tiny @ {file}")):
            said, root = list[str](), tmp_path / str(len(lines[1]))
            spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=lines)
            bare, found = extract_logins(spec)
            lock = environments.resolve(spec, ResolverSettings(root), said.append)
            assert "s3cret" not in str(bare) and "s3cret" not in str(lock) and index.url in str(lock)
            python = VenvBuilder().build(lock, root / "b", said.append, found.of(lock)).argv[0]
            subprocess.run([python, "-c", "import tiny; assert tiny.version == '2.0'"], check=True)
            built = [path for path in (root / "b" / lock.digest).rglob("*") if path.is_file() and not path.is_symlink()]
            assert not [path for path in built if b"s3cret" in path.read_bytes()]
            assert "s3cret" not in "\n".join(said)


def test_a_private_certificate_authority_is_accepted(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with indexes.serve(mirror, certificates=tmp_path / "tls") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(InvalidInput, match=r"(?i)certificate|issuer"):
            build(tmp_path)
        monkeypatch.setenv("PIP_CERT", str(index.certificate))
        build(tmp_path)


def test_the_best_version_of_all_indexes_is_chosen(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like pip, and unlike uv's default, which takes the first index that has the name."""
    make_wheel(tmp_path / "old", "tiny", "1.0")
    with indexes.serve(tmp_path / "old") as first, indexes.serve(mirror) as second:
        monkeypatch.setenv("PIP_INDEX_URL", first.url)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", second.url)
        build(tmp_path)
