from __future__ import annotations

import os
import stat

import pytest

from footplate.client import home as homes
from footplate.errors import InvalidInput, NotAllowed


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_is_made_private_on_first_use(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_HOME", str(tmp_path / "a" / "home"))
    assert homes.home_folder() == str(tmp_path / "a" / "home")
    assert mode(tmp_path / "a" / "home") == 0o700


def test_default_is_in_the_users_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert homes.home_folder() == str(tmp_path / ".footplate")


def test_argument_comes_before_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPLATE_HOME", str(tmp_path / "a"))
    assert homes.home_folder(str(tmp_path / "b")) == str(tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_open_folder_of_ours_is_closed(tmp_path):
    (tmp_path / "h" / "blobs").mkdir(parents=True)
    os.chmod(tmp_path / "h", 0o755)
    homes.home_folder(str(tmp_path / "h"))
    assert mode(tmp_path / "h") == 0o700


def test_open_folder_with_other_files_is_refused_and_unchanged(tmp_path):
    (tmp_path / "h" / "holiday photos").mkdir(parents=True)
    os.chmod(tmp_path / "h", 0o755)
    with pytest.raises(NotAllowed, match="holiday photos"):
        homes.home_folder(str(tmp_path / "h"))
    assert mode(tmp_path / "h") == 0o755


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a folder of another user")
def test_another_users_folder_is_refused(tmp_path):
    (tmp_path / "h").mkdir(mode=0o700)
    os.chown(tmp_path / "h", 12345, -1)
    with pytest.raises(NotAllowed, match="belongs to user 12345"):
        homes.home_folder(str(tmp_path / "h"))


def test_path_that_is_not_utf8_is_refused_and_not_created(tmp_path):
    path = os.path.join(str(tmp_path), os.fsdecode(b"h\xff"))
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        homes.home_folder(path)
    assert not os.path.exists(path)


def test_file_is_refused(tmp_path):
    (tmp_path / "h").write_text("")
    with pytest.raises(InvalidInput, match="not a folder"):
        homes.home_folder(str(tmp_path / "h"))


def test_impossible_path_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be created"):
        homes.home_folder(str(tmp_path / "file" / "h"))


def test_socket_is_in_a_short_home():
    assert homes.socket_path("/x/home") == "/x/home/socket/server.sock"


def test_long_home_has_its_socket_elsewhere(tmp_path):
    long = str(tmp_path / ("x" * 120))
    path = homes.socket_path(long)
    try:
        assert len(os.fsencode(path)) <= homes.LONGEST_SOCKET_PATH - 4
        assert mode(os.path.dirname(path)) == mode(os.path.dirname(os.path.dirname(path))) == 0o700
        assert homes.home_of_socket(path) is None, "a process that cannot see the home cannot start its server"
        os.makedirs(long)
        homes.write_record(long, {"pid": 1})
        assert homes.home_of_socket(path) == long
        assert homes.socket_path(long) == path != homes.socket_path(long + "y")
    finally:
        for home in (long, long + "y"):
            folder = os.path.dirname(homes.socket_path(home))
            os.unlink(os.path.join(folder, "home"))
            os.rmdir(folder)


def test_folder_created_by_another_user_is_refused(tmp_path, monkeypatch):
    root = tmp_path.parent if len(str(tmp_path)) > 48 else tmp_path
    monkeypatch.setenv("TMPDIR", str(root))
    trap = root / f"footplate-{os.geteuid()}"
    trap.symlink_to("/tmp")
    try:
        with pytest.raises(NotAllowed, match="not a private folder"):
            homes.socket_path("/" + "x" * 120)
    finally:
        trap.unlink()


@pytest.mark.parametrize("place", ["socket/server.sock", "server.sock"])
def test_home_of_a_socket(tmp_path, place):
    assert homes.home_of_socket(str(tmp_path / place)) is None
    homes.write_record(str(tmp_path), {"pid": 1})
    assert homes.home_of_socket(str(tmp_path / place)) == str(tmp_path)


def test_record_is_read_as_written_and_garbage_as_empty(tmp_path):
    assert homes.read_record(str(tmp_path)) == {}
    homes.write_record(str(tmp_path), {"pid": 1, "version": "2"})
    assert homes.read_record(str(tmp_path)) == {"pid": 1, "version": "2"}
    for broken in ("", "{", "[1]", "null"):
        (tmp_path / "server.json").write_text(broken)
        assert homes.read_record(str(tmp_path)) == {}
    assert sorted(os.listdir(tmp_path)) == ["server.json"]
