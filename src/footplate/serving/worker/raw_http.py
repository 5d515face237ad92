"""`@rawhttp`, `AMLRequest` and `AMLResponse` of `azureml.contrib.services`, without Flask.

A script written for Azure sees the attributes of Flask's request that scoring scripts use.
"""

from __future__ import annotations

import io
import json
import numbers
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Callable, Dict, Mapping, Tuple, TypeVar
from urllib.parse import parse_qsl

from footplate.serving.protocol import check_headers, check_status
from footplate.serving.worker.messages import JSON, ScoreRequest, ScoreResponse

RAW_HTTP = "__footplate_raw_http__"
Run = TypeVar("Run", bound=Callable[..., Any])


def rawhttp(run: Run) -> Run:
    """Mark `run` to get the request itself instead of the body's text.

    Args:
        run: The function `run` of a scoring script.

    Returns:
        The same function.

    Example:
        @rawhttp
        def score(request: AMLRequest) -> AMLResponse:
            return AMLResponse(request.get_data(), 200)
    """
    setattr(run, RAW_HTTP, True)
    return run


class Headers(Dict[str, str]):
    """Headers by name in any case."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__({name.lower(): value for name, value in values.items()})

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())


class AMLRequest:
    """A request as `@rawhttp` hands it over.

    Args:
        request: The request that the worker received.

    Example:
        @rawhttp
        def score(request: AMLRequest) -> AMLResponse:
            if request.content_type == "application/json":
                return AMLResponse(request.get_json(silent=True), 200, json_str=True)
            return AMLResponse(request.get_data(), 200)
    """

    def __init__(self, request: ScoreRequest) -> None:
        self.method = request.method
        self.headers = Headers(request.headers)
        self.content_type = self.headers.get("content-type")
        self.path = "/" + request.path
        self.full_path = self.path + "?" + request.query
        self.query_string = request.query.encode()
        self.args: dict[str, str] = dict(parse_qsl(request.query))
        self.data = request.body
        self._files: tuple[dict[str, str], dict[str, UploadedFile]] | None = None

    def get_data(self, cache: bool = True, as_text: bool = False) -> bytes | str:
        """Return the body.

        Args:
            cache: Accepted and ignored: the body stays readable.
            as_text: Whether to return text instead of bytes.

        Returns:
            The body.
        """
        return self.data.decode() if as_text else self.data

    def get_json(self, force: bool = False, silent: bool = False) -> Any:
        """Return the body as JSON.

        Args:
            force: Accepted and ignored: the content type does not matter.
            silent: Whether to return None for a body that is not JSON.

        Returns:
            The decoded value.

        Raises:
            ValueError: The body is not JSON.
        """
        try:
            return json.loads(self.data)
        except ValueError:
            if silent:
                return None
            raise

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return self.get_json()

    @property
    def form(self) -> dict[str, str]:
        """Fields of a form."""
        return self._parts()[0]

    @property
    def files(self) -> dict[str, UploadedFile]:
        """Files of a multipart form."""
        return self._parts()[1]

    def _parts(self) -> tuple[dict[str, str], dict[str, UploadedFile]]:
        if self._files is None:
            self._files = parse_form(self.content_type or "", self.data)
        return self._files


class UploadedFile:
    """One file of a multipart form, as Flask's FileStorage is used in scoring scripts."""

    def __init__(self, filename: str, content_type: str, content: bytes) -> None:
        self.filename = filename
        self.content_type = content_type
        self.stream = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self.stream.read(size)


def parse_form(content_type: str, body: bytes) -> tuple[dict[str, str], dict[str, UploadedFile]]:
    """Return the fields and the files of a form."""
    fields: dict[str, str] = {}
    files: dict[str, UploadedFile] = {}
    if content_type.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(body.decode())), files
    if not content_type.startswith("multipart/form-data"):
        return fields, files
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    parts: list[Any] = list(message.iter_parts()) if message.is_multipart() else []
    for part in parts:
        name = str(part.get_param("name", header="content-disposition") or "")
        content = part.get_payload(decode=True) or b""
        if part.get_filename() is None:
            fields[name] = content.decode()
        else:
            files[name] = UploadedFile(part.get_filename(), part.get_content_type(), content)
    return fields, files


class AMLResponse:
    """The response of a scoring script: a value, a status, and headers.

    Args:
        message: Bytes, text, or with `json_str` any value that JSON can hold.
        status_code: The HTTP status.
        json_str: Whether to encode the message as JSON.

    Example:
        response = AMLResponse({"label": 1}, 200, json_str=True)
        response.add_header("X-Model", "points:1")
        print(response.to_response().status)
    """

    def __init__(self, message: Any, status_code: int = 200, json_str: bool = False) -> None:
        self.headers: dict[str, str] = {}
        self.status_code = status_code
        self.mimetype: str | None = None
        self._message = message
        self._is_json = json_str

    def add_header(self, name: str, value: str) -> None:
        """Set one header.

        Args:
            name: The name of the header.
            value: Its value.
        """
        self.headers[name] = value

    def to_response(self) -> ScoreResponse:
        """Return it as the worker sends it: bytes as they are, `json_str` as JSON, anything else as text.

        Returns:
            The response.

        Raises:
            ValueError: The status or a header is not one of HTTP.
        """
        status = check_status(_number(self.status_code))
        headers = check_headers({name: str(value) for name, value in self.headers.items()})
        chosen = next((headers.pop(name) for name in list(headers) if name.lower() == "content-type"), None)
        content_type, body = self._content()
        if not chosen and self.mimetype:
            (chosen,) = check_headers({"Content-Type": self.mimetype}).values()
        return ScoreResponse(status, body, chosen or content_type, headers)

    def _content(self) -> Tuple[str, bytes]:
        if isinstance(self._message, (bytes, bytearray)):
            return "application/octet-stream", bytes(self._message)
        if self._is_json:
            return JSON, json.dumps(self._message).encode()
        return "text/html; charset=utf-8", str(self._message).encode()


def _number(status: Any) -> Any:
    """Return a status as a plain number if it is one of another kind, such as numpy's, or text ("404 Not Found")."""
    if isinstance(status, str) and status[:3].isdigit():
        return int(status.split()[0])
    return int(status) if isinstance(status, numbers.Integral) else status
