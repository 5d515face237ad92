"""From an HTTP request to a service: paths, keys, CORS, health, swagger and metrics."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from footplate.domain.serving.routes import ServiceRoute
from footplate.serving.gateway import metrics
from footplate.serving.gateway.authentication import is_allowed
from footplate.serving.gateway.collection import collect, is_sampled
from footplate.serving.gateway.dispatch import ServicePool
from footplate.serving.gateway.http import HttpRequest, HttpResponse, Respond
from footplate.serving.gateway.swagger import swagger_of
from footplate.serving.gateway.worker_link import Answer

PREFIX = "/api/v1/service/"
_PAGES = ("", "healthz", "swagger.json")
_FORWARDED = re.compile(r"score/?|v1/.*|v2(/.*)?")
_ID_HEADERS = ("x-ms-request-id", "x-request-id")
_LONGEST_ID = 128


class GatewayApplication:
    """Answers requests to all services, or to one of them on a port of its own (`only`)."""

    def __init__(self, pools: Mapping[str, ServicePool], only: str | None = None) -> None:
        self._pools = pools
        self._only = only

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """Answer what the gateway itself knows, and what is refused; everything else may have a body."""
        pool, tail = self._find(request.target)
        if pool is None:
            return self._answer_without_service(request)
        service = pool.service
        if service.tls is not None and self._only is None:
            return _json(403, {"message": f"service {pool.name} takes requests over TLS, at port {service.port}"})
        response = self._answer(pool, tail, request)
        if response is None:
            return service.limits.body_bytes
        return _complete(response, service, request, _request_id(request))

    def handle(self, request: HttpRequest, respond: Respond) -> None:
        """Forward a request to a worker."""
        pool, tail = self._find(request.target)
        if pool is None:  # the service was removed while the body came
            respond(self._answer_without_service(request))
        else:
            self._forward(pool, tail, request, respond)

    def _answer(self, pool: ServicePool, tail: str, request: HttpRequest) -> HttpResponse | None:
        """Return the answer to a request that no worker gets."""
        service = pool.service
        method = request.method
        address = "/" if self._only else f"{PREFIX}{pool.name}/"
        if method == "OPTIONS" and service.cors:
            return HttpResponse(204)
        if tail in _PAGES:
            if method not in ("GET", "HEAD"):
                return _not_allowed(method, "GET, HEAD", f"send requests to {address}score")
            if tail == "swagger.json":
                return _json(200, swagger_of(pool.name, service, self._hello(pool), address.rstrip("/")))
            return HttpResponse(200, b"Healthy", "text/plain")
        if not is_allowed(pool.name, service, request.headers.get("authorization")):
            return _json(401, {"message": "a key or token of the service is needed: Authorization: Bearer KEY"})
        if not _FORWARDED.fullmatch(tail):
            return _json(404, {"message": f"there is nothing at {tail!r}: send requests to score"})
        if method not in ("GET", "HEAD", "POST", "OPTIONS"):
            return _not_allowed(method, "GET, HEAD, POST, OPTIONS", "use POST")
        return None

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
        up = [(version.takes_requests, int(number)) for number, version in pool.pools.items() if version.hello]
        return pool.pools[str(max(up)[1])].hello if up else {}

    @staticmethod
    def _forward(pool: ServicePool, tail: str, request: HttpRequest, respond: Respond) -> None:
        request_id = _request_id(request)
        item: dict[str, Any] = {
            "m": request.method,
            "p": tail,
            "q": request.target.partition("?")[2],
            "h": {name: value for name, value in request.headers.items() if name != "authorization"},
            "n": len(request.body),
        }
        item["h"].update(dict.fromkeys(_ID_HEADERS, request_id))
        service = pool.service
        samples = service.collect if is_sampled(service) else None
        if samples:
            item["c"] = 1

        def done(answer: Answer) -> None:
            status, content_type, headers, body = answer
            respond(_complete(HttpResponse(status, body, content_type, headers), service, request, request_id))
            if samples:
                collect(samples, pool.name, request, answer, request_id)

        pool.submit(item, request.body, done)

    def _answer_without_service(self, request: HttpRequest) -> HttpResponse:
        path = request.target.partition("?")[0]
        if path in ("/", "/metrics") and request.method not in ("GET", "HEAD"):
            return _not_allowed(request.method, "GET, HEAD", f"the services are below {PREFIX}")
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
    request_id = request.headers.get("x-ms-request-id") or request.headers.get("x-request-id", "")
    is_plain = request_id.isascii() and request_id.isprintable() and len(request_id) <= _LONGEST_ID
    return request_id if request_id and is_plain else f"{random.getrandbits(64):016x}"


def _complete(response: HttpResponse, service: ServiceRoute, request: HttpRequest, request_id: str) -> HttpResponse:
    """Return a response with the headers that all of a service have."""
    extra = {**dict.fromkeys(_ID_HEADERS, request_id), **_cors(service, request)}
    headers = {name: value for name, value in response.headers.items() if name.lower() not in extra}
    return HttpResponse(response.status, response.body, response.content_type, {**headers, **extra})


def _cors(service: ServiceRoute, request: HttpRequest) -> dict[str, str]:
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


def _not_allowed(method: str, allowed: str, hint: str) -> HttpResponse:
    body = json.dumps({"message": f"{method} is not allowed here: {hint}"}).encode()
    return HttpResponse(405, body, headers={"allow": allowed})


def _json(status: int, value: Any) -> HttpResponse:
    return HttpResponse(status, json.dumps(value).encode())
