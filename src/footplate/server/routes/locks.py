from __future__ import annotations

from fastapi import Response

from footplate.domain.orders import Lock
from footplate.domain.records import BuildView, BuiltView, CacheView, ClearedView
from footplate.server.openapi import Page, Router
from footplate.server.responses import answer, answer_list
from footplate.server.rights import Right
from footplate.server.routes.parsing import Body, HubOf, ServicesOf, StrictEnvironment, poll
from footplate.services.topics import BuildChanged

router = Router("locks")


class Resolution(Body):
    environment: StrictEnvironment
    refresh: bool = False


class Clearing(Body):
    unused_seconds: float
    dry_run: bool = False
    caches: list[str] = []


@router.post("/locks", Right.RESOLVE_ENVIRONMENTS, Lock)
def resolve_lock(body: Resolution, services: ServicesOf) -> Response:
    """Resolve an environment. Equal content has the same lock until `refresh`."""
    return answer(services.locks.resolve(body.environment, body.refresh))


@router.get("/locks/{digest}", Right.RESOLVE_ENVIRONMENTS, Lock)
def get_lock(digest: str, services: ServicesOf) -> Response:
    """Return a lock."""
    return answer(services.locks.get(digest))


@router.get("/runs/{run}/lock", Right.READ_RUNS, Lock)
def get_lock_of_run(run: str, services: ServicesOf) -> Response:
    """Return the lock of a run."""
    return answer(services.locks.of_run(run))


@router.post("/locks/{digest}/build", Right.RESOLVE_ENVIRONMENTS, BuildView, status_code=202)
def build_lock(digest: str, services: ServicesOf) -> Response:
    """Start to build a lock on the server, unless it is built."""
    return answer(services.locks.build(digest), 202)


@router.get("/locks/{digest}/build", Right.RESOLVE_ENVIRONMENTS, BuildView)
async def follow_build(digest: str, services: ServicesOf, hub: HubOf, offset: int = 0, wait: float = 0.0) -> Response:
    """Return the state of a build and its log from `offset`; wait for news if requested."""

    def read() -> BuildView:
        return services.locks.progress(digest, offset)

    def enough(view: BuildView) -> bool:
        return view.state != "building" or view.offset > offset

    return answer(await poll(hub, BuildChanged(digest), read, enough, wait))


@router.get("/built-environments", Right.RESOLVE_ENVIRONMENTS, Page(BuiltView))
def list_built(services: ServicesOf) -> Response:
    """List the environments that are built on the server."""
    return answer_list(services.locks.built())


@router.get("/environment-caches", Right.RESOLVE_ENVIRONMENTS, Page(CacheView))
def list_caches(services: ServicesOf) -> Response:
    """List the caches of environments on the server."""
    return answer_list(services.locks.caches())


@router.post("/built-environments/clear", Right.MANAGE_SERVER, ClearedView)
def clear_built(body: Clearing, services: ServicesOf) -> Response:
    """Remove built environments that were not used for a while, and whole caches if named."""
    return answer(services.locks.clear(body.unused_seconds, body.dry_run, body.caches))
