"""The transport that the API needs, and the helpers that all nouns share."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Protocol, Type, TypeVar, cast

from footplate.domain.codec import from_json
from footplate.errors import InvalidInput

T = TypeVar("T")
Query = Mapping[str, Any]


class Reply(Protocol):
    def json(self) -> Any: ...


class Requester(Protocol):
    """Sends requests. Paths are unquoted and lack the prefix. In a query, None is left out and a list repeats its key.

    Raises a FootplateError for every response of 400 and more.
    """

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        json: Any = None,
        body: Any = None,
        timeout: Optional[float] = None,
    ) -> Reply: ...

    def stream(self, path: str, query: Optional[Query] = None) -> Iterator[bytes]: ...


class Upgrader(Protocol):
    """A transport that can also open connections for other protocols than HTTP."""

    def upgrade(self, path: str, protocol: str, query: Optional[Query] = None) -> Any:
        """POST, and return the socket of the connection, which speaks another protocol from there on."""
        ...


class ApiNoun:
    """Requests about one kind of thing.

    Every public method of a subclass sends exactly one kind of request. The template of its path stands in the method,
    so that a reader finds a route and its client with one search.
    """

    def __init__(self, transport: Requester) -> None:
        self._transport = transport

    def _send(
        self,
        method: str,
        template: str,
        query: Optional[Query] = None,
        json: Any = None,
        body: Any = None,
        timeout: Optional[float] = None,
        **path: Any,
    ) -> Any:
        """Send a request and return its response as JSON."""
        filled = _fill(template, path)
        return self._transport.request(method, filled, query=query, json=json, body=body, timeout=timeout).json()

    def _get(
        self, kind: Type[T], template: str, query: Optional[Query] = None, timeout: Optional[float] = None, **path: Any
    ) -> T:
        return from_json(kind, self._send("GET", template, query, timeout=timeout, **path))

    def _post(self, kind: Type[T], template: str, json: Any = None, timeout: Optional[float] = None, **path: Any) -> T:
        return from_json(kind, self._send("POST", template, json=json, timeout=timeout, **path))

    def _put(self, kind: Type[T], template: str, json: Any = None, **path: Any) -> T:
        return from_json(kind, self._send("PUT", template, json=json, **path))

    def _patch(self, kind: Type[T], template: str, json: Any, **path: Any) -> T:
        return from_json(kind, self._send("PATCH", template, json=json, **path))

    def _delete(self, kind: Type[T], template: str, query: Optional[Query] = None, **path: Any) -> T:
        return from_json(kind, self._send("DELETE", template, query, **path))

    def _upload(self, kind: Type[T], template: str, body: Any, query: Optional[Query] = None, **path: Any) -> T:
        """PUT bytes, or an open binary file."""
        return from_json(kind, self._send("PUT", template, query, body=body, **path))

    def _download(self, template: str, query: Optional[Query] = None, **path: Any) -> Iterator[bytes]:
        return self._transport.stream(_fill(template, path), query)

    def _upgrade(self, template: str, protocol: str, query: Optional[Query] = None, **path: Any) -> Any:
        return cast(Upgrader, self._transport).upgrade(_fill(template, path), protocol, query)

    def _items(self, kind: Type[T], template: str, query: Optional[Query] = None, **path: Any) -> Iterator[T]:
        """Yield the items of a list; each page is requested when it is needed."""
        cursor: Optional[str] = None
        while True:
            page = self._send("GET", template, dict(query or {}, cursor=cursor), **path)
            for item in page["items"]:
                yield from_json(kind, item)
            cursor = page["next"]
            if cursor is None:
                return


def _fill(template: str, values: Mapping[str, Any]) -> str:
    """Fill in the template of a path. Only the name of a file, `path`, may contain slashes: others are one segment."""
    for field, value in values.items():
        text = str(value)
        if not text or ("/" in text and field != "path"):
            problem = "is empty" if not text else f"is {text!r}, which contains a slash"
            raise InvalidInput(f"the {field} in a request {problem}", "look at the name that was given")
    return template.format(**values)
