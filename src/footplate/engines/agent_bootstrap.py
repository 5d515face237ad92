"""Starts an agent on a machine that has nothing of Footplate: this file travels there as text and runs by itself.

    python3 bootstrap.py --run R --attempt N --endpoint URL --node K [more options of the agent]

It fetches the agent bundle from the server unless the node has it, and becomes the supervisor of the agent, which is a
file of the bundle. Standard library only, and it imports nothing of ours. The names of the variables are those of
`footplate.environ`; a test compares them.

The first line of the user's script waits for all of this, and Python compiles this file at every start. So it is short,
and imports only modules that the agent needs as well.
"""

import io
import os
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from typing import Any, Dict, List

BUNDLE = "FOOTPLATE_BUNDLE"
NODE_HOME = "FOOTPLATE_NODE_HOME"
SHARED = "FOOTPLATE_SHARED"
CA = "FOOTPLATE_CA"
TOKEN = "FOOTPLATE_TOKEN"
DEFAULT_HOME = "~/.cache/footplate"
ARCHIVE_PATH = "/api/v1/agent-archives/"
SUPERVISOR = "footplate/node/supervisor.py"

PATIENCE = 2 * 3600.0
"""Seconds for which a server that does not answer is retried."""

PAUSES = (0.2, 15.0)
"""The first and the longest pause between tries, in seconds."""

UNAVAILABLE, REFUSED, STOPPED, UNTRUSTED = 69, 77, 75, 78
"""Exit codes: no bundle because the server is away, or refuses it; asked to stop before the agent was started; the
certificate of the server is not trusted."""

_TIMEOUT = 60.0


class Refused(Exception):
    """The server will never hand out the bundle."""


class Untrusted(Refused):
    """The certificate of the server is not signed by an authority that this node trusts."""


class Stopped(BaseException):
    """Somebody asked to stop before the agent was started."""


def _stop(*_: object) -> None:
    raise Stopped


# ── The bundle ────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_bundle(home: str, endpoint: str, digest: str, token: str) -> str:
    """Return the directory of the unpacked bundle, fetched if the node lacks it; several processes may call it."""
    folder = os.path.join(home, "bundles", digest)
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        _unpack(_fetch(endpoint, digest, token), folder)
    if os.stat(folder).st_uid not in (0, os.getuid()):
        raise Refused(folder + " belongs to another user\nhint: give each user a scratch directory of their own")
    return folder


def _fetch(endpoint: str, digest: str, token: str) -> bytes:
    """Download the archive and check its digest; retry while the server is away."""
    until = time.monotonic() + PATIENCE
    pause = PAUSES[0]
    last = ""
    while True:
        try:
            return _download(endpoint, digest, token)
        except OSError as error:  # includes errors of HTTP and TLS
            reason = str(error) or type(error).__name__
        if time.monotonic() > until:
            raise OSError(f"the server at {endpoint} does not answer: {reason}")
        if reason != last:
            _say(f"waiting for the server at {endpoint}: {reason}")
            last = reason
        time.sleep(pause * (1 + os.urandom(1)[0] / 255) / 2)
        pause = min(pause * 2, PAUSES[1])


def _download(endpoint: str, digest: str, token: str) -> bytes:
    # A node that has the bundle does not wait for imports that only a download needs.
    import hashlib  # noqa: PLC0415
    import http.client  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = urlsplit(endpoint)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=_TIMEOUT, context=_tls_context()
        )
    try:
        path = parts.path.rstrip("/") + ARCHIVE_PATH + digest
        connection.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
        response = connection.getresponse()
        content = response.read()
    except http.client.HTTPException as error:
        raise OSError(f"the answer was cut: {error!r}") from None
    except OSError as error:
        if type(error).__name__ != "SSLCertVerificationError":  # its module is imported only for TLS
            raise
        words = f"the certificate of {endpoint} is not trusted: {error}"
        raise Untrusted(words + "\nhint: start the server with --ca-file, or set SSL_CERT_FILE on the node") from None
    finally:
        connection.close()
    if response.status != 200:
        words = f"{endpoint} answered {response.status}: {content[:300].decode('utf-8', 'replace')}"
        raise Refused(words) if response.status in (401, 403, 404) else OSError(words)
    if hashlib.sha256(content).hexdigest() != digest:
        raise OSError(f"{len(content)} bytes arrived that are not the bundle {digest}")
    return content


def _tls_context() -> Any:
    import base64  # noqa: PLC0415  # as above
    import ssl  # noqa: PLC0415

    context = ssl.create_default_context()
    if os.environ.get(CA):
        context.load_verify_locations(cadata=base64.b64decode(os.environ[CA]).decode("ascii"))
    return context


def _unpack(content: bytes, folder: str) -> None:
    """Unpack beside the folder and rename: the folder is complete, even after a power failure, or absent."""
    import tempfile  # noqa: PLC0415  # as above
    import zipfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix=".new-", dir=os.path.dirname(folder)) as beside:
        new = os.path.join(beside, "bundle")
        os.mkdir(new, 0o700)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(new)
        for above, _, names in os.walk(new):
            for name in names:
                _sync(os.path.join(above, name))
            _sync(above)
        try:
            os.rename(new, folder)
        except OSError:
            if not os.path.isdir(folder):  # else another agent was faster
                raise
        _sync(os.path.dirname(folder))


def _sync(path: str) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# ── The program ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _say(words: str) -> None:
    sys.stderr.write("footplate: " + words + "\n")
    sys.stderr.flush()


def _expand(path: str) -> str:
    return os.path.abspath(os.path.expanduser(os.path.expandvars(path)))


def main(arguments: List[str], variables: Dict[str, str]) -> int:
    if sys.version_info < (3, 8):  # noqa: UP036  # this is the program that finds out
        version = sys.version.split()[0]
        _say(f"{sys.executable} is Python {version}, and Footplate needs 3.8\nhint: set the option python")
        return REFUSED
    values = dict(zip(arguments[::2], arguments[1::2]))
    home = _expand(variables.get(NODE_HOME) or DEFAULT_HOME)
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _stop)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        os.makedirs(home, mode=0o700, exist_ok=True)
        folder = find_bundle(home, values["--endpoint"], variables[BUNDLE], variables.get(TOKEN, ""))
        os.environ[NODE_HOME] = home
        if variables.get(SHARED):
            os.environ[SHARED] = _expand(variables[SHARED])
        names: Dict[str, Any] = {"__name__": "footplate_supervisor"}
        code: Any = SourceFileLoader(SUPERVISOR, os.path.join(folder, SUPERVISOR)).get_code(SUPERVISOR)
        exec(code, names)
        return names["supervise"](folder, arguments)
    except Stopped:
        return STOPPED
    except Refused as error:
        _say(str(error))
        return UNTRUSTED if isinstance(error, Untrusted) else REFUSED
    except OSError as error:
        _say(str(error))
        return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
