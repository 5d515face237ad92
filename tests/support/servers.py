"""Real data servers for tests, each on a free loopback port and in a directory of its own.

Azurite (Azure Blob) comes from npm into `.node/` (scripts/node_packages.sh), rclone's S3 and moto from PyPI; our own is
here. The constructor starts a server, and `stop` ends it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

from footplate.api import ApiClient
from footplate.client.transport import Transport
from footplate.domain.data import AZURE_BLOB, GCS, S3, StoreSpec
from footplate.domain.datasets import through_server
from footplate.domain.orders import DEFAULT_DATASTORE
from footplate.errors import Unavailable
from support.azure_requests import create_container

AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's published key, which is the same everywhere and not a secret."""

_START_SECONDS = 60.0


def find_azurite() -> Path | None:
    """Return the path of Azurite's blob server, as installed by scripts/node_packages.sh."""
    for folder in (Path.cwd(), *Path(__file__).resolve().parents):
        program = folder / ".node" / "node_modules" / ".bin" / "azurite-blob"
        if program.exists() and shutil.which("node"):
            return program
    return None


def has_moto() -> bool:
    return all(importlib.util.find_spec(name) for name in ("moto", "flask", "flask_cors"))


def find_rclone() -> Path | None:
    beside = Path(sys.executable).parent / "rclone"
    named = str(beside) if beside.exists() else shutil.which("rclone")
    return Path(named) if named else None


class _Server:
    def __init__(self, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"fp-{name}-"))
        self.port = _free_port()
        variables = {key: value for key, value in os.environ.items() if not key.startswith("FOOTPLATE_")}
        variables.update(self._variables())
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(self._argv(), stdout=log, stderr=log, cwd=self.folder, env=variables)
        self._wait_until_ready()

    def _argv(self) -> list[str]:
        raise NotImplementedError

    def _variables(self) -> dict[str, str]:
        return {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + _START_SECONDS
        while not _answers(self.port):
            if self._process.poll() is not None or time.monotonic() > give_up:
                log = (self.folder / "server.log").read_text(errors="replace")
                self.stop()
                raise Unavailable(f"{type(self).__name__} did not start: {log[-2000:]}", "see its own message")
            time.sleep(0.02)


class Azurite(_Server):
    """Azure's own emulator of blob storage. With `certificate`, which includes the key, it accepts tokens."""

    def __init__(self, program: Path, certificate: Path | None = None) -> None:
        self._program, self._certificate = program, certificate
        super().__init__("azurite")

    def _argv(self) -> list[str]:
        options = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", str(self.folder / "data")]
        if self._certificate is not None:
            options += ["--oauth", "basic", "--cert", str(self._certificate), "--key", str(self._certificate)]
        return [str(self._program), *options, "--silent", "--skipApiVersionCheck", "--disableTelemetry"]

    def new_store(self) -> StoreSpec:
        """Return a new, empty container."""
        container = f"c{uuid.uuid4().hex[:16]}"
        create_container(self.endpoint, AZURITE_ACCOUNT, AZURITE_KEY, container)
        location = {"account": AZURITE_ACCOUNT, "container": container, "endpoint": self.endpoint}
        return StoreSpec(AZURE_BLOB, location, {"key": AZURITE_KEY})

    @property
    def endpoint(self) -> str:
        address = self.address if self._certificate is None else self.address.replace("http:", "https:")
        return f"{address}/{AZURITE_ACCOUNT}"


class RcloneS3(_Server):
    """rclone's S3 server over a folder. It answers range requests with status 200, and ignores conditions."""

    KEY, SECRET, BUCKET = "tests-key-id", "tests-secret-key", "tests"

    def __init__(self, program: Path) -> None:
        self._program = program
        super().__init__("rclone")

    def _argv(self) -> list[str]:
        data = self.folder / "data"
        (data / self.BUCKET).mkdir(parents=True)  # a folder created later would not be visible for minutes
        options = ["--addr", f"127.0.0.1:{self.port}", *self._keys(), "--config", "/dev/null"]
        return [str(self._program), "serve", "s3", *options, str(data)]

    def _keys(self) -> list[str]:
        return ["--auth-key", f"{self.KEY},{self.SECRET}"]

    def new_store(self) -> StoreSpec:
        location = {"bucket": self.BUCKET, "endpoint": self.address, "prefix": uuid.uuid4().hex[:16]}
        return StoreSpec(S3, location, {"access_key_id": self.KEY, "secret_access_key": self.SECRET})


class RcloneGcs(RcloneS3):
    """The same without keys: Google's XML API equals S3's except for authentication, which is not tested here."""

    def _keys(self) -> list[str]:
        return []

    def new_store(self) -> StoreSpec:
        location = {"bucket": self.BUCKET, "endpoint": self.address, "prefix": uuid.uuid4().hex[:16]}
        return StoreSpec(GCS, location, {"token": "nobody-looks"})


_ALL = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
_ANYBODY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}'


class MotoS3(_Server):
    """moto's in-memory server.

    It checks signatures and session tokens, honours ranges and conditions, and keeps the parts of interrupted uploads.
    """

    BUCKET = "tests"

    def __init__(self) -> None:
        super().__init__("moto")
        try:
            self._make_ready()
        except BaseException:
            self.stop()
            raise

    def _argv(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def _variables(self) -> dict[str, str]:
        return {"INITIAL_NO_AUTH_ACTION_COUNT": "7"}  # the number of setup requests; later ones need signatures

    def _make_ready(self) -> None:
        user, role = {"UserName": "tests"}, {"RoleName": "tests"}
        policy = {"PolicyName": "all", "PolicyDocument": _ALL}
        self._ask("iam", {"Action": "CreateUser", **user})
        self.keys = _told(self._ask("iam", {"Action": "CreateAccessKey", **user}))
        self._ask("iam", {"Action": "PutUserPolicy", **user, **policy})
        made = self._ask("iam", {"Action": "CreateRole", **role, "AssumeRolePolicyDocument": _ANYBODY})
        self._ask("iam", {"Action": "PutRolePolicy", **role, **policy})
        named = {"RoleArn": _field(made, "Arn"), "RoleSessionName": "tests"}
        answer = self._ask("sts", {"Action": "AssumeRole", **named})
        self.session = {**_told(answer), "session_token": _field(answer, "SessionToken")}
        self._send("s3", "PUT", f"/{self.BUCKET}", b"")

    def _ask(self, service: str, form: dict[str, str]) -> str:
        return self._send(service, "POST", "/", urllib.parse.urlencode(form).encode())

    def _send(self, service: str, method: str, path: str, body: bytes) -> str:
        who = f"AWS4-HMAC-SHA256 Credential=nobody/20250101/us-east-1/{service}/aws4_request"
        request = urllib.request.Request(f"{self.address}{path}", body, {"Authorization": who}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def new_store(self) -> StoreSpec:
        location = {"bucket": self.BUCKET, "endpoint": self.address, "prefix": uuid.uuid4().hex[:16]}
        return StoreSpec(S3, location, self.keys)


def _told(answer: str) -> dict[str, str]:
    return {"access_key_id": _field(answer, "AccessKeyId"), "secret_access_key": _field(answer, "SecretAccessKey")}


def _field(answer: str, name: str) -> str:
    found = re.search(f"<{name}>([^<]+)</{name}>", answer)
    assert found is not None, f"moto did not return {name}"
    return found.group(1)


class TeamServer(_Server):
    """A Footplate server on TCP. `elsewhere`: its home is invisible from here, as on another machine."""

    TOKEN = "token-of-the-tests"

    def __init__(self, elsewhere: bool = False, settings: str = "") -> None:
        self._elsewhere, self._settings = elsewhere, settings
        super().__init__("team")

    def _argv(self) -> list[str]:
        home, secret = self.folder / "home", self.folder / "secret"
        secret.touch(mode=0o600)
        secret.write_text(self.TOKEN)
        self.home = self.folder / "real" if self._elsewhere else home
        for folder in {home, self.home}:
            folder.mkdir(mode=0o700)
        if self._settings:
            (self.home / "settings.ini").touch(mode=0o600)
            (self.home / "settings.ini").write_text(self._settings)
        command = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--token-file", str(secret)]
        if not self._elsewhere:
            return command
        hide = f'mount --bind {self.home} {home} && exec "$@"'  # in its own mount namespace
        return ["unshare", "-m", "sh", "-c", hide, "sh", *command]

    def new_store(self) -> StoreSpec:
        """Return the default datastore of a new workspace, as a client without the server's folders opens it."""
        api = ApiClient(Transport(self.address, self.TOKEN))
        workspace = api.workspaces.create(f"w{uuid.uuid4().hex[:16]}", "s", "g", if_exists="return")
        return through_server(self.address, self.TOKEN, workspace.id, DEFAULT_DATASTORE)


def can_hide() -> bool:
    """Return whether a server's home can be hidden from us, which needs permission to mount."""
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
