from __future__ import annotations

import os
import stat

import pytest

from footplate.errors import InvalidInput, NotAllowed
from footplate.server.tokens import server_token


def test_token_is_created_once_private_and_never_logged(tmp_path, caplog):
    caplog.set_level("INFO")
    token = server_token(str(tmp_path), None)
    assert len(token) >= 32
    assert stat.S_IMODE(os.stat(tmp_path / "token").st_mode) == 0o600
    assert server_token(str(tmp_path), None) == token
    assert str(tmp_path / "token") in caplog.text
    assert token not in caplog.text
    assert os.listdir(tmp_path) == ["token"]


def test_file_precedes_the_variable_which_precedes_the_home(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("from-file\n")
    os.chmod(tmp_path / "mine", 0o600)
    monkeypatch.setenv("FOOTPLATE_TOKEN", "from-variable")
    assert server_token(str(tmp_path), str(tmp_path / "mine")) == "from-file"
    assert server_token(str(tmp_path), None) == "from-variable"
    assert not (tmp_path / "token").exists()


@pytest.mark.parametrize("content", ["", "\n", "two words", "two\nlines", "ümlaut"])
def test_an_invalid_token_is_refused(tmp_path, content):
    (tmp_path / "t").write_text(content)
    os.chmod(tmp_path / "t", 0o600)
    with pytest.raises(InvalidInput, match="does not hold a token"):
        server_token(str(tmp_path), str(tmp_path / "t"))


def test_open_or_missing_file_is_refused(tmp_path):
    (tmp_path / "t").write_text("secret")
    os.chmod(tmp_path / "t", 0o644)
    with pytest.raises(NotAllowed, match="open to other users"):
        server_token(str(tmp_path), str(tmp_path / "t"))
    with pytest.raises(InvalidInput, match="No such file"):
        server_token(str(tmp_path), str(tmp_path / "none"))
