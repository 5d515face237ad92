"""A PostgreSQL server for tests: in its own folder, on a Unix socket, removed when the tests end."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from footplate.errors import Unavailable

_USER = "footplate"
_START_SECONDS = 60.0
# Tests need no durability, and shared machines have little memory.
_SETTINGS = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=100", "listen_addresses=")


def find_binaries() -> Path | None:
    """Return the folder that holds initdb and postgres, or None if PostgreSQL's server is not installed."""
    named = shutil.which("initdb")
    folders = [os.path.dirname(os.path.realpath(named))] if named else []
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    for folder in folders:
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("initdb", "postgres")):
            return Path(folder)
    return None


class PostgresServer:
    """A PostgreSQL server. The constructor starts it; `stop` stops it and removes its folder."""

    def __init__(self, binaries: Path) -> None:
        # Not below TMPDIR: the path of a Unix socket is short, and the user below must be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="fp-pg-", dir="/tmp"))
        self._identity = _someone_else() if os.geteuid() == 0 else {}
        self._databases = 0
        data = self.folder / "data"
        if self._identity:
            shutil.chown(self.folder, self._identity["user"], self._identity["group"])
        self._run(str(binaries / "initdb"), "-D", str(data), "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        options = [part for setting in _SETTINGS for part in ("-c", setting)]
        self._argv = [str(binaries / "postgres"), "-D", str(data), "-k", str(self.folder), *options]
        self._process = self._spawn()
        self._wait_until_ready()

    def kill(self) -> None:
        """Kill the server as a power failure would, without notice."""
        self._process.kill()
        self._process.wait()

    def start_again(self) -> None:
        """Start the server after `kill`, as soon as its orphaned children have released their resources."""
        give_up = time.monotonic() + _START_SECONDS
        self._process = self._spawn()
        while not self._is_ready():
            if self._process.poll() is not None:
                self._process = self._spawn()
            if time.monotonic() > give_up:
                raise Unavailable("PostgreSQL did not start again", f"look at {self.folder / 'server.log'}")
            time.sleep(0.05)

    def _spawn(self) -> subprocess.Popen[Any]:
        # Drop the settings of the test that happens to start it: its home is searched for leftover processes.
        variables = {name: value for name, value in os.environ.items() if not name.startswith("FOOTPLATE_")}
        with (self.folder / "server.log").open("ab") as log:
            return subprocess.Popen(self._argv, stdout=log, stderr=log, cwd="/", env=variables, **self._identity)

    def new_database(self) -> str:
        """Create an empty database and return its address."""
        self._databases += 1
        name = f"test_{os.getpid()}_{self._databases}"
        with _connect(self.folder, "postgres") as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://{_USER}@/{name}?host={self.folder}"

    def drop_database(self, address: str) -> None:
        """Drop a database and disconnect its clients."""
        name = address.rpartition("@/")[2].partition("?")[0]
        with _connect(self.folder, "postgres") as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # "fast": closes connections and waits for nothing
            self._process.wait(timeout=_START_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, *argv: str) -> None:
        done = subprocess.run(argv, capture_output=True, text=True, cwd="/", check=False, **self._identity)
        if done.returncode != 0:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise Unavailable(f"{argv[0]} failed: {done.stderr.strip()}", "look at PostgreSQL's own message")

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > give_up:
                log = (self.folder / "server.log").read_text(errors="replace")
                self.stop()
                raise Unavailable(f"PostgreSQL did not start: {log[-2000:]}", "see its own message")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        try:
            _connect(self.folder, "postgres").close()
        except _operational_error():
            return False
        return True


def _someone_else() -> dict[str, Any]:
    """Return another user, because PostgreSQL refuses to run as root."""
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise Unavailable(
        "there is no user 'postgres' or 'nobody' to run PostgreSQL as", "run the tests as another user than root"
    )


def _connect(folder: Path, database: str) -> Any:
    import psycopg  # noqa: PLC0415  # from the extra `postgres`, only needed to start a server

    return psycopg.connect(f"host={folder} user={_USER} dbname={database}", autocommit=True, connect_timeout=10)


def _operational_error() -> type[Exception]:
    import psycopg  # noqa: PLC0415  # as above

    return psycopg.OperationalError
