"""The SDK's connection to a server. The server's errors become Azure exceptions here and nowhere else."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Generator, Iterator, Mapping, Optional, Tuple

from footplate import environ
from footplate.api import ApiClient
from footplate.errors import FootplateError
from footplate.lazy import Deferred
from footplate.sdk.exceptions import Kinds, translate

if TYPE_CHECKING:
    import getpass

    from footplate import client
    from footplate.client.transport import ApiResponse, Transport
    from footplate.domain.replies import ServerInfo
else:
    getpass = Deferred("getpass")
    client = Deferred("footplate.client")  # 9 ms; a script that only logs never connects

Query = Mapping[str, Any]
PERSON_TOKEN = "fpt_"
"""The beginning of tokens of people."""
_NO_KINDS: Kinds = {}


class Session:
    """A connection to one server. Threads may share it."""

    def __init__(self, transport: Transport, server: Optional[str] = None) -> None:
        self._transport = transport
        self._info: Optional[ServerInfo] = None
        self._link_signer: Optional[Tuple[str, Optional[str]]] = None
        self.api = self.api_for(_NO_KINDS)
        """The server's API. Its errors are Azure exceptions."""
        self.server = server
        """The address that the user gave; None for the server of the home folder."""

    @property
    def endpoint(self) -> str:
        return self._transport.endpoint

    @property
    def token(self) -> Optional[str]:
        return self._transport.token

    @property
    def transport(self) -> Transport:
        """The transport itself, for packages below the SDK, which handle FootplateError themselves."""
        return self._transport

    @property
    def is_local(self) -> bool:
        return self._transport.is_local

    @property
    def info(self) -> ServerInfo:
        """The server's description of itself. Requested once: the fields used here do not change while it lives."""
        info = self._info
        if info is None:
            info = self._info = self.api.server.get()
        return info

    @property
    def blob_folder(self) -> Optional[str]:
        """The folder of the server's content store if this process can see it: same machine, same container."""
        folder = self.info.blobs if self.is_local else None
        return folder if folder and os.path.isdir(folder) else None

    @property
    def link_signer(self) -> Tuple[str, Optional[str]]:
        """The secret that signs links to files, and the id of the token that it stands for, if that is a person's."""
        if self._link_signer is None:
            self._link_signer = (self.token or "", None)
            who = self.api.people.whoami() if self._link_signer[0].startswith(PERSON_TOKEN) else None
            if who is not None and who.token is not None and who.link_key is not None:
                self._link_signer = (who.link_key, who.token.id)
        return self._link_signer

    def portal_url(self, workspace: str, path: str) -> str:
        """Return the address of a view of a workspace on the page of the server."""
        page = self.info.page or ("footplate:" if self.is_local else self.endpoint.rstrip("/"))
        return f"{page}/w/{workspace}/{path}"

    def api_for(self, kinds: Kinds) -> ApiClient:
        """Return the API with other Azure exceptions for some error codes."""
        return ApiClient(_Translating(self._transport, kinds))


class _Translating:
    """A transport that raises Azure exceptions."""

    def __init__(self, transport: Transport, kinds: Kinds) -> None:
        self._transport = transport
        self._kinds = kinds

    def request(self, method: str, path: str, **rest: Any) -> ApiResponse:
        with translating(self._kinds):
            return self._transport.request(method, path, **rest)

    def stream(self, path: str, query: Optional[Query] = None) -> Iterator[bytes]:
        with translating(self._kinds):
            yield from self._transport.stream(path, query)


@contextmanager
def translating(kinds: Kinds = _NO_KINDS) -> Generator[None, None, None]:
    """Raise FootplateErrors from inside the block as Azure exceptions."""
    try:
        yield
    except FootplateError as error:
        raise translate(error, kinds) from error


_sessions: Dict[Tuple[Optional[str], ...], Session] = {}
_guard = threading.Lock()


def open_session(server: Optional[str] = None) -> Session:
    """Return the session with `server`, or else with the server that the environment or the home folder names.

    There is one session per server and process.
    """
    key = (server, *(os.environ.get(name) for name in (environ.ENDPOINT, environ.HOME, environ.TOKEN)))
    with _guard:
        if key not in _sessions:
            with translating():
                _sessions[key] = Session(client.connect(endpoint=server), server)
        return _sessions[key]


def is_in_job() -> bool:
    """Return whether this process belongs to a run of a server."""
    return bool(os.environ.get(environ.RUN_ID) and os.environ.get(environ.ENDPOINT))


def user_name() -> str:
    """Return the name of the submitting user, for display."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no such user
        return ""
