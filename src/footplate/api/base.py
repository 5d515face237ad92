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

    def _get(self, template: str, query: Optional[Query] = None, timeout: Optional[float] = None, **path: Any) -> Any:
        return self._transport.request("GET", _filled(template, path), query=query, timeout=timeout).json()

    def _post(self, template: str, json: Any = None, timeout: Optional[float] = None, **path: Any) -> Any:
        return self._transport.request("POST", _filled(template, path), json=json, timeout=timeout).json()

    def _put(self, template: str, json: Any = None, **path: Any) -> Any:
        return self._transport.request("PUT", _filled(template, path), json=json).json()

    def _patch(self, template: str, json: Any, **path: Any) -> Any:
        return self._transport.request("PATCH", _filled(template, path), json=json).json()

    def _delete(self, template: str, query: Optional[Query] = None, **path: Any) -> Any:
        return self._transport.request("DELETE", _filled(template, path), query=query).json()

    def _upload(self, template: str, body: Any, query: Optional[Query] = None, **path: Any) -> Any:
        """PUT bytes, or an open binary file."""
        return self._transport.request("PUT", _filled(template, path), query=query, body=body).json()

    def _download(self, template: str, query: Optional[Query] = None, **path: Any) -> Iterator[bytes]:
        return self._transport.stream(_filled(template, path), query)

    def _upgrade(self, template: str, protocol: str, query: Optional[Query] = None, **path: Any) -> Any:
        return cast(Upgrader, self._transport).upgrade(_filled(template, path), protocol, query)

    def _items(self, kind: Type[T], template: str, query: Optional[Query] = None, **path: Any) -> Iterator[T]:
        """Yield the items of a list; each page is requested when it is needed."""
        cursor: Optional[str] = None
        while True:
            page = self._get(template, dict(query or {}, cursor=cursor), **path)
            for item in page["items"]:
                yield from_json(kind, item)
            cursor = page["next"]
            if cursor is None:
                return


def _filled(template: str, values: Mapping[str, Any]) -> str:
    """Fill in the template of a path. Only the name of a file, `path`, may contain slashes: others are one segment."""
    for field, value in values.items():
        text = str(value)
        if not text or ("/" in text and field != "path"):
            problem = "is empty" if not text else f"is {text!r}, which contains a slash"
            raise InvalidInput(f"the {field} in a request {problem}", "look at the name that was given")
    return template.format(**values)
