"""From an HTTP request to a service: paths, keys, CORS, health, swagger and metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from footplate.serving.gateway import metrics
from footplate.serving.gateway.authentication import is_allowed
from footplate.serving.gateway.collection import collect, is_sampled
from footplate.serving.gateway.dispatch import ServicePool
from footplate.serving.gateway.http import HttpRequest, HttpResponse, Respond
from footplate.serving.gateway.routes import Limits, Service
from footplate.serving.gateway.swagger import swagger_of
from footplate.serving.gateway.worker_link import Answer

PREFIX = "/api/v1/service/"
_SMALL_BODY = Limits().body_bytes
_FORWARDED = ("score", "v1/", "v2")
_ID_HEADERS = ("x-ms-request-id", "x-request-id")
_LONGEST_ID = 128


class GatewayApplication:
    """Answers requests to all services, or to one of them on a port of its own (`only`)."""

    def __init__(self, pools: Mapping[str, ServicePool], only: str | None = None) -> None:
        self._pools = pools
        self._only = only

    def body_limit(self, target: str) -> int:
        pool, _ = self._find(target)
        return pool.service.limits.body_bytes if pool else _SMALL_BODY

    def handle(self, request: HttpRequest, respond: Respond) -> None:
        """Answer what the gateway itself knows; forward everything else to a worker."""
        pool, tail = self._find(request.target)
        if pool is None:
            respond(self._own(request))
            return
        service = pool.service
        if service.tls is not None and self._only is None:
            respond(_json(403, {"message": f"service {service.name} takes requests over TLS, at port {service.port}"}))
            return
        request_id = _request_id(request)
        reply = _reply_with(respond, service, request, request_id)
        if request.method == "OPTIONS" and service.cors:
            reply(HttpResponse(204))
        elif tail in ("", "healthz"):
            reply(HttpResponse(200, b"Healthy", "text/plain"))
        elif tail == "swagger.json":
            reply(_json(200, swagger_of(service, self._hello(pool), _address(service, self._only))))
        elif not is_allowed(service, request.headers.get("authorization")):
            reply(_json(401, {"message": "a key or token of the service is needed: Authorization: Bearer KEY"}))
        elif not tail.startswith(_FORWARDED):
            reply(_json(404, {"message": f"there is nothing at {tail!r}"}))
        else:
            self._forward(pool, tail, request, request_id, reply)

    def _find(self, target: str) -> tuple[ServicePool | None, str]:
        path = target.partition("?")[0]
        if self._only is not None:
            return self._pools.get(self._only), path.strip("/")
        if not path.startswith(PREFIX):
            return None, path
        name, _, tail = path[len(PREFIX) :].partition("/")
        return self._pools.get(name), tail

    @staticmethod
    def _hello(pool: ServicePool) -> dict[str, Any]:
        """Return the description of the newest version that answers; of one without requests if no other is up."""
        up = [found for found in pool.pools.values() if found.hello]
        newest = max(up, key=lambda found: (found.takes_requests, int(found.version.name)), default=None)
        return newest.hello if newest else {}

    def _forward(
        self, pool: ServicePool, tail: str, request: HttpRequest, request_id: str, reply: Callable[[HttpResponse], None]
    ) -> None:
        item: dict[str, Any] = {
            "m": request.method,
            "p": tail,
            "q": request.target.partition("?")[2],
            "h": {name: value for name, value in request.headers.items() if name != "authorization"},
            "n": len(request.body),
        }
        item["h"].update(dict.fromkeys(_ID_HEADERS, request_id))
        service = pool.service
        if is_sampled(service):
            item["c"] = 1

        def done(answer: Answer) -> None:
            status, content_type, headers, body = answer
            reply(HttpResponse(status, body, content_type, headers))
            if "c" in item:
                collect(service, request, answer, request_id)

        pool.submit(item, request.body, done)

    def _own(self, request: HttpRequest) -> HttpResponse:
        path = request.target.partition("?")[0]
        if path == "/":
            return HttpResponse(200, b"Healthy", "text/plain")
        if path == "/metrics":
            return HttpResponse(200, self._metrics().encode(), "text/plain; version=0.0.4")
        return _json(404, {"message": f"there is no service at {path}"})

    def _metrics(self) -> str:
        versions = [version for pool in self._pools.values() for version in pool.pools.values()]
        return metrics.text((version.metrics, version.waiting, version.healthy) for version in versions)


def _request_id(request: HttpRequest) -> str:
    """Return the id that the client gave, or a new one: ids are written to logs, so they are short and plain."""
    given = next((request.headers[name] for name in _ID_HEADERS if request.headers.get(name)), "")
    is_plain = given.isascii() and given.isprintable() and len(given) <= _LONGEST_ID
    return given if given and is_plain else os.urandom(8).hex()


def _reply_with(
    respond: Respond, service: Service, request: HttpRequest, request_id: str
) -> Callable[[HttpResponse], None]:
    """Return a function that adds the headers that every response of a service has."""
    extra = {**dict.fromkeys(_ID_HEADERS, request_id), **_cors(service, request)}

    def reply(response: HttpResponse) -> None:
        headers = {name: value for name, value in response.headers.items() if name.lower() not in extra}
        headers.update(extra)
        respond(HttpResponse(response.status, response.body, response.content_type, headers))

    return reply


def _cors(service: Service, request: HttpRequest) -> dict[str, str]:
    origin = request.headers.get("origin")
    if origin is None or not service.cors or (origin not in service.cors and "*" not in service.cors):
        return {}
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-headers": ", ".join(("authorization", "content-type", *_ID_HEADERS)),
        "access-control-expose-headers": ", ".join(_ID_HEADERS),
        "access-control-allow-methods": "GET, POST, OPTIONS",
        "vary": "origin",
    }


def _address(service: Service, only: str | None) -> str:
    """Return what stands before the paths of the document, which begin with a slash."""
    return "/" if only else f"{PREFIX}{service.name}"


def _json(status: int, value: Any) -> HttpResponse:
    return HttpResponse(status, json.dumps(value).encode())
