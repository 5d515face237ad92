"""The home folder: its location, the names of its files, and the record that the last server left there."""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Dict, Optional, cast

from footplate import environ
from footplate.disk import LONGEST_SOCKET_PATH, atomic_write
from footplate.errors import InvalidInput, NotAllowed

RECORD = "server.json"
SOCKET_FOLDER = "socket"
SOCKET = "server.sock"
SERVER_LOCK = "server.lock"
START_LOCK = "start.lock"
LOG = os.path.join("logs", "server.log")
TOKEN = "token"

_LONGEST = LONGEST_SOCKET_PATH - len(".new")  # the server first binds a longer name
_LONGEST_HOME = _LONGEST - len(os.path.join("", SOCKET_FOLDER, SOCKET)) - 1

_CONTENTS = frozenset(
    [RECORD, SOCKET_FOLDER, SERVER_LOCK, START_LOCK, TOKEN, "logs", "footplate.db", "footplate.db-wal",
     "footplate.db-shm", "blobs", "runs", "work", "spool", "environments", "cache", "runtime", "wheels",
     "settings.ini", "secrets.key", "serving", "stores", "page_port",
     "credentials.json", "uploads"]
)  # fmt: skip


def home_folder(path: Optional[str] = None) -> str:
    """Return the absolute path of the home folder; create it with mode 0700 if it does not exist.

    It is `path`, else FOOTPLATE_HOME, else `~/.footplate`.
    """
    home = os.path.expanduser(path or os.environ.get(environ.HOME) or "~/.footplate")
    if home.startswith("~"):  # neither HOME nor an entry in the list of users: it would become a folder named "~"
        raise InvalidInput(f"{home!r} cannot be found: this user has no home directory", "set HOME or FOOTPLATE_HOME")
    home = os.path.abspath(home)
    _check_text(home)
    try:
        os.makedirs(home, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise InvalidInput(
            f"the home folder {home} cannot be created: {error.strerror}", "set FOOTPLATE_HOME to a folder of your own"
        ) from None
    _make_private(home)
    return home


def _check_text(home: str) -> None:
    try:
        home.encode("utf-8")
    except UnicodeEncodeError:  # the database has a URL, which is text
        raise InvalidInput(
            f"the path of the home folder, {home!r}, is not UTF-8", "set FOOTPLATE_HOME to a path that is"
        ) from None


def _make_private(home: str) -> None:
    info = os.stat(home)
    if not stat.S_ISDIR(info.st_mode):
        raise InvalidInput(f"the home {home} is not a folder", "set FOOTPLATE_HOME to a folder of your own")
    if info.st_uid != os.geteuid():
        raise NotAllowed(
            f"the home folder {home} belongs to user {info.st_uid}, not to you ({os.geteuid()})",
            "set FOOTPLATE_HOME to a folder of your own",
        )
    if not info.st_mode & 0o077:
        return
    # A folder with other files in it was named by mistake (such as FOOTPLATE_HOME=/tmp): never close it to others.
    strange = next((name for name in sorted(os.listdir(home)) if name not in _CONTENTS), None)
    if strange is not None:
        raise NotAllowed(
            f"the home folder {home} is open to other users, and {strange!r} in it does not belong to Footplate",
            f"choose another FOOTPLATE_HOME, or close this one with: chmod 700 {home}",
        )
    os.chmod(home, 0o700)


def socket_path(home: str) -> str:
    """Return the path where the server of this home listens.

    The folder holds only the socket, so that a container which mounts it also sees the socket of the next server.
    Clients read the path from the record instead.
    """
    path = os.path.join(home, SOCKET_FOLDER, SOCKET)
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    root = os.environ.get("TMPDIR") or "/tmp"
    if len(os.fsencode(root)) > _LONGEST - 48:
        root = "/tmp"
    import hashlib  # noqa: PLC0415  # lazy: only the server of a home with a long name ever comes here

    mine = os.path.join(root, f"footplate-{os.geteuid()}")
    folder = os.path.join(mine, hashlib.sha256(os.fsencode(home)).hexdigest()[:24])
    for step in (mine, folder):
        _make_own(step)
    _write(os.path.join(folder, "home"), home)
    return os.path.join(folder, SOCKET)


def _make_own(folder: str) -> None:
    """Create a folder of mode 0700 in a world-writable directory. An existing one must be ours, and not a symlink."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise NotAllowed(
            f"{folder} is not a private folder of yours, so the server's socket cannot be put there",
            f"remove it, or set FOOTPLATE_HOME to a path of at most {_LONGEST_HOME} bytes",
        )


def home_of_socket(path: str) -> Optional[str]:
    """Return the home whose server listens on this socket; None if that cannot be determined."""
    folder = os.path.dirname(path)
    homes = [folder, os.path.dirname(folder)]  # beside it: from a job that outlived the server of an older version
    try:
        with open(os.path.join(folder, "home"), encoding="utf-8", errors="surrogateescape") as file:
            homes.append(file.read())
    except OSError:
        pass
    # A container sees the socket but not the home, so it cannot start a server.
    return next((home for home in homes if os.path.exists(os.path.join(home, RECORD))), None)


def read_record(home: str) -> Dict[str, Any]:
    """Return what the last server of this home recorded about itself; empty if there was none.

    Keys: pid, version, python, pythonpath, socket, url (None without TCP), managed, started.
    """
    try:
        with open(os.path.join(home, RECORD), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return cast("Dict[str, Any]", record) if isinstance(record, dict) else {}


def write_record(home: str, record: Dict[str, Any]) -> None:
    _write(os.path.join(home, RECORD), json.dumps(record, indent=1, sort_keys=True) + "\n", 0o600)


def _write(path: str, text: str, mode: int = 0o666) -> None:
    atomic_write(path, text.encode("utf-8", "surrogateescape"), durable=True, mode=mode)


def read_token(home: str) -> str:
    """Return the token of this home's server, which it writes when it first listens on TCP."""
    with open(os.path.join(home, TOKEN), encoding="ascii") as file:
        return file.read().strip()
