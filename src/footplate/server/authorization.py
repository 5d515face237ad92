"""What a principal may do: the table of rights, applied to the objects that a request names.

Facts that were looked up a moment ago are used on the event loop; only others cost a thread and a query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from fastapi import Request

from footplate.domain.access.people import CONTRIBUTOR, OWNER, READER, Maker
from footplate.domain.records import RunView
from footplate.errors import NotAllowed
from footplate.server.auth import Principal
from footplate.server.rights import Need, Reach, Right
from footplate.services.access.identities import Identity, allows
from footplate.services.run_limits import are_related

_ROLES = {Need.READER: READER, Need.CONTRIBUTOR: CONTRIBUTOR, Need.MAKER: CONTRIBUTOR, Need.OWNER: OWNER}
_BEYOND_ITSELF = (Reach.WORKSPACE, Reach.STORES, Reach.WORKSPACE_RUNS)
"""Where a run reaches objects of others. It needs its submitter's role for these, as long as it runs."""


class _Runs(Protocol):
    def view(self, run: str) -> RunView: ...


class _Datastores(Protocol):
    def access_for_run(self, run: str, name: str) -> object: ...


class _Ownership(Protocol):
    def recall_run(self, run: str) -> Maker | None: ...

    def of_run(self, run: str) -> Maker | None: ...

    def of_service(self, workspace: str, name: str) -> Maker | None: ...

    def workspace_of_experiment(self, experiment: str) -> str | None: ...


class _People(Protocol):
    def recall_submitter(self, name: str) -> Identity | None: ...

    def submitter(self, name: str) -> Identity: ...


class Directory(Protocol):
    """The facts that authorization needs."""

    @property
    def runs(self) -> _Runs: ...

    @property
    def datastores(self) -> _Datastores: ...

    @property
    def ownership(self) -> _Ownership: ...

    @property
    def people(self) -> _People: ...


async def authorize(request: Request, right: Right) -> None:
    """Raise NotAllowed unless the principal of this request has the right on the objects in its path."""
    principal: Principal = request.scope["principal"]
    if principal.only not in (None, right):
        raise NotAllowed(*_explain_only(principal))
    if principal.is_owner:
        return
    objects = request.path_params
    directory = request.app.state.services
    if principal.identity is not None:
        await _authorize_person(request, principal.identity, right, directory)
    elif principal.run is not None and not await _run_reaches(principal, right, objects, directory):
        limit = ", as far as its submitter has it" if right.reach in _BEYOND_ITSELF else ""
        raise NotAllowed(
            f"the token of run {principal.run} does not reach {request.method} {request.url.path}: it needs the right "
            f"to {right.meaning}",
            f"a run has this right on {right.reach.value}{limit}",
        )


def _explain_only(principal: Principal) -> tuple[str, str]:
    if principal.only is Right.SIGN_IN:
        return "this browser has no session here", "sign in first"
    return "a signed link reads one file of a run", "set FOOTPLATE_TOKEN for everything else"


# ── People ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _authorize_person(request: Request, identity: Identity, right: Right, directory: Directory) -> None:
    if await _person_has(identity, right, request.path_params, directory):
        return
    limits = " with this token, which is limited" if identity.is_limited else ""
    raise NotAllowed(
        f"{identity.name} may not send {request.method} {request.url.path}{limits}: it needs the right to "
        f"{right.meaning}",
        f"{right.need.value} have this right; see yours with: footplate whoami",
    )


async def _person_has(identity: Identity, right: Right, objects: Mapping[str, str], directory: Directory) -> bool:
    need = right.need
    if need is Need.ANYONE:
        return True
    if need in (Need.SERVER_OWNER, Need.NOBODY):
        return identity.owns_server
    role = _ROLES[need]
    if identity.owns_server:
        return True
    if "run" in objects:
        creator = await _creator_of(objects["run"], directory)
        return creator is not None and has_on_run(identity, need, creator)
    workspace = await _workspace_of(objects, directory)
    if workspace is None:  # the object belongs to none, or does not exist
        return not objects.keys() & {"experiment"} and allows(identity.highest_role(), role)
    own_role = identity.role_in(workspace)
    if need is Need.MAKER and allows(own_role, role) and not allows(own_role, OWNER):
        maker = await asyncio.to_thread(directory.ownership.of_service, workspace, objects["name"])
        return maker is not None and maker.person == identity.name
    return allows(own_role, role)


def has_on_run(identity: Identity, need: Need, creator: Maker) -> bool:
    """Return whether a person has a right with this need on a run."""
    own_role = identity.role_in(creator.workspace)
    if need is Need.MAKER and creator.person != identity.name:
        return allows(own_role, OWNER)
    return allows(own_role, _ROLES[need])


async def _creator_of(run: str, directory: Directory) -> Maker | None:
    return directory.ownership.recall_run(run) or await asyncio.to_thread(directory.ownership.of_run, run)


async def _workspace_of(objects: Mapping[str, str], directory: Directory) -> str | None:
    if "experiment" in objects:
        return await asyncio.to_thread(directory.ownership.workspace_of_experiment, objects["experiment"])
    return objects.get("workspace")


# ── Runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _run_reaches(principal: Principal, right: Right, objects: Mapping[str, str], directory: Directory) -> bool:
    reach = right.reach
    run = principal.run or ""
    other = str(objects.get("run", ""))
    if reach is Reach.ANYTHING:
        return True
    if reach in _BEYOND_ITSELF and other != run and not await _submitter_has(principal, right, directory):
        return False
    if reach in (Reach.WORKSPACE, Reach.STORES):
        if objects.get("workspace") != principal.workspace:
            return False
        if reach is Reach.STORES:
            await asyncio.to_thread(directory.datastores.access_for_run, run, objects["name"])
        return True
    if reach is Reach.NOTHING or not other:
        return False
    if other == run or reach is Reach.ITSELF:
        return other == run
    if reach is Reach.WORKSPACE_RUNS:
        creator = await _creator_of(other, directory)
        return creator is not None and creator.workspace == principal.workspace
    return await asyncio.to_thread(are_related, run, other, directory.runs.view)


async def _submitter_has(principal: Principal, right: Right, directory: Directory) -> bool:
    """Return whether the person who submitted the run has the role for this right in its workspace now."""
    creator = await _creator_of(principal.run or "", directory)
    if creator is None or creator.person is None:  # the owner of the server submitted it
        return creator is not None
    people = directory.people
    submitter = people.recall_submitter(creator.person) or await asyncio.to_thread(people.submitter, creator.person)
    return submitter.owns_server or allows(submitter.role_in(creator.workspace), _ROLES[right.need])


# ── Objects that bodies name ──────────────────────────────────────────────────────────────────────────────────────────


def author_of(principal: Principal, directory: Directory) -> Maker:
    """Return the author of what the principal makes: itself, or who submitted the run that it is."""
    if principal.run is not None:
        creator = directory.ownership.of_run(principal.run)
        if creator is not None:
            return creator
    return Maker(principal.workspace or "", principal.name, principal.person)


def check_run_change(principal: Principal, run: str, directory: Directory) -> None:
    """Raise NotAllowed if a person may not add to this run; `run_limits` has the rule for runs."""
    identity = principal.identity
    creator = directory.ownership.of_run(run) if identity is not None else None
    if identity is None or creator is None or identity.owns_server:
        return
    if not has_on_run(identity, Need.MAKER, creator):
        raise NotAllowed(
            f"{identity.name} may not add to run {run!r}, which somebody else submitted", "name a run of your own"
        )


def check_service_change(principal: Principal, workspace: str, name: str, directory: Directory) -> None:
    """Raise NotAllowed if a person may not overwrite this web service."""
    identity = principal.identity
    if identity is None or identity.owns_server or allows(identity.role_in(workspace), OWNER):
        return
    maker = directory.ownership.of_service(workspace, name)
    if maker is not None and maker.person != identity.name:
        raise NotAllowed(
            f"{identity.name} may not overwrite the service {name!r}, which somebody else deployed",
            "choose another name, or ask its maker",
        )
