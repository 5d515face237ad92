"""Shared parts of the endpoints: access to the services, strict bodies, `K` and `K=V` filters, and the long poll."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import parse_qsl, unquote_to_bytes

from fastapi import Depends, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from starlette.convertors import PathConvertor, register_url_convertor

from footplate.api import PREFIX
from footplate.domain.codec import from_json
from footplate.domain.orders import Cause
from footplate.domain.records import FileView
from footplate.domain.shipments import Shipment
from footplate.domain.specs import EnvironmentSpec, RunSpec
from footplate.domain.stacks import ProcessStacks
from footplate.domain.text import parse_label_filter
from footplate.errors import InvalidInput
from footplate.server.auth import Principal
from footplate.server.hub import Hub
from footplate.services import Services
from footplate.services.topics import Topic

T = TypeVar("T")
MAX_WAIT = 30.0
DEEPEST = 100


class Body(BaseModel):
    """A request body; an unknown field is an error that names it."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_depth(cls, data: Any) -> Any:
        """Reject a body that is nested so deeply that a reader of the stored value would fail."""
        level = [data]
        depth = 0
        while level:
            depth += 1
            if depth > DEEPEST:
                raise InvalidInput(f"the body is nested deeper than {DEEPEST} levels", "send a flatter structure")
            level = [item for part in level for item in _parts(part)]
        return data


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


# Coroutines: FastAPI would run plain functions in a thread.
async def _services(request: Request) -> Services:
    return request.app.state.services


async def _hub(request: Request) -> Hub:
    return request.app.state.hub


async def _principal(request: Request) -> Principal:
    return request.scope["principal"]


ServicesOf = Annotated[Services, Depends(_services)]
PrincipalOf = Annotated[Principal, Depends(_principal)]
HubOf = Annotated[Hub, Depends(_hub)]


def strictly(kind: type[T]) -> Callable[[Any], Any]:
    """Return a validator that builds the dataclass and refuses unknown fields."""
    return lambda data: data if data is None or isinstance(data, kind) else from_json(kind, data, strict=True)


def _all_strictly(kind: type[T], items: Any) -> Any:
    """Convert the items of a list; pydantic rejects anything else."""
    return tuple(from_json(kind, item, strict=True) for item in items) if isinstance(items, list) else items  # pyright: ignore


Repeated = Annotated[tuple[str, ...], Query()]
"""A query parameter that may be repeated."""

StrictSpec = Annotated[RunSpec, BeforeValidator(strictly(RunSpec))]
StrictEnvironment = Annotated[EnvironmentSpec, BeforeValidator(strictly(EnvironmentSpec))]
StrictFile = Annotated[FileView, BeforeValidator(strictly(FileView))]
StrictStacks = Annotated[tuple[ProcessStacks, ...], BeforeValidator(lambda items: _all_strictly(ProcessStacks, items))]
StrictCause = Annotated[Cause, BeforeValidator(strictly(Cause))]
StrictShipment = Annotated[Shipment, BeforeValidator(strictly(Shipment))]


def pairs(filters: tuple[str, ...]) -> tuple[tuple[str, str | None], ...]:
    """Parse filters: `K` means "has the key", `K=V` means "has this value"."""
    return tuple(map(parse_label_filter, filters))


class _AnyPath(PathConvertor):
    """A path parameter that may contain a line break, as file names may; Starlette's own ends there."""

    regex = "(?s:.*)"


register_url_convertor("any", _AnyPath())


async def _file_path(request: Request, path: str) -> str:
    """Return the file name at the end of the URL byte for byte: names need not be UTF-8, but Starlette's `path` is."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    template: str = request.scope["route"].path_format.removeprefix(PREFIX)
    before = template.split("/").index("{path}")
    name = raw.partition(b"?")[0].removeprefix(PREFIX.encode()).split(b"/", before)[before]
    return unquote_to_bytes(name).decode("utf-8", "surrogateescape")


FilePath = Annotated[str, Depends(_file_path)]


async def _file_prefix(request: Request, prefix: str = "") -> str:
    """Return the beginning of file names byte for byte, for the same reason."""
    query = parse_qsl(request.scope["query_string"].decode("latin-1"), errors="surrogateescape")
    return dict(query).get("prefix", prefix)


FilePrefix = Annotated[str, Depends(_file_prefix)]


def start_items(items: Iterable[T]) -> Iterator[T]:
    """Produce the first item now, while an error can still become the response instead of cutting one off."""
    rest = iter(items)
    first = list(itertools.islice(rest, 1))
    return itertools.chain(first, rest)


async def poll(hub: Hub, topic: Topic, read: Callable[[], T], enough: Callable[[T], bool], wait: float) -> T:
    """Read until `enough` or the time is up; between reads, wait until the topic is published."""
    if wait != wait:  # NaN: the time would never be up
        raise InvalidInput("wait is nan", "give a number of seconds")
    deadline = time.monotonic() + min(max(wait, 0.0), MAX_WAIT)
    while True:
        seen = hub.sequence(topic)
        value = await asyncio.to_thread(read)
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0 or enough(value):
            return value
        await hub.wait(topic, seen, seconds_left)
