"""The transport that the API needs, and the helpers that all nouns share."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Protocol, Type, TypeVar

from footplate.domain.codec import from_json

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


class ApiNoun:
    """Requests about one kind of thing.

    Every public method of a subclass sends exactly one kind of request. The template of its path stands in the method,
    so that a reader finds a route and its client with one search.
    """

    def __init__(self, transport: Requester) -> None:
        self._transport = transport

    def _get(self, template: str, query: Optional[Query] = None, timeout: Optional[float] = None, **path: Any) -> Any:
        return self._transport.request("GET", template.format(**path), query=query, timeout=timeout).json()

    def _post(self, template: str, json: Any = None, timeout: Optional[float] = None, **path: Any) -> Any:
        return self._transport.request("POST", template.format(**path), json=json, timeout=timeout).json()

    def _put(self, template: str, json: Any = None, **path: Any) -> Any:
        return self._transport.request("PUT", template.format(**path), json=json).json()

    def _patch(self, template: str, json: Any, **path: Any) -> Any:
        return self._transport.request("PATCH", template.format(**path), json=json).json()

    def _delete(self, template: str, **path: Any) -> Any:
        return self._transport.request("DELETE", template.format(**path)).json()

    def _upload(self, template: str, body: Any, query: Optional[Query] = None, **path: Any) -> Any:
        """PUT bytes, or an open binary file."""
        return self._transport.request("PUT", template.format(**path), query=query, body=body).json()

    def _download(self, template: str, query: Optional[Query] = None, **path: Any) -> Iterator[bytes]:
        return self._transport.stream(template.format(**path), query)

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
