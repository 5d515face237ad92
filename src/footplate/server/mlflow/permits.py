"""The right that a request needs, on the run or workspace that it names, and its entry in the audit log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from fastapi import Request
from starlette.types import Scope

from footplate.errors import FootplateError
from footplate.server.audit import is_recorded, record
from footplate.server.auth import Principal
from footplate.server.authorization import authorize
from footplate.server.mlflow.errors import MlflowError, status_of
from footplate.server.rights import Right
from footplate.services import Services

T = TypeVar("T")
_ON_MODELS = {Right.LOG_RUNS: Right.REGISTER, Right.READ_RUNS: Right.READ_WORKSPACE}
"""The rights on the files of models, in place of those on runs."""

_ON_RUNS = (Right.LOG_RUNS, Right.CHANGE_RUNS, Right.READ_RUNS)


class Permit:
    """What one request may do. `run` is the run that it names, if any."""

    def __init__(self, services: Services, scope: Scope, right: Right, workspace: str, run: object) -> None:
        self._services = services
        is_about_run = right in _ON_RUNS and isinstance(run, str)
        self._right = right if is_about_run else _ON_MODELS.get(right, right)
        objects = {"workspace": workspace, **({"run": run} if is_about_run else {})}
        self._request = Request({**scope, "path_params": objects})

    async def check(self) -> None:
        """Raise NotAllowed unless the principal has the right."""
        await authorize(self._request, self._right)

    async def perform(self, action: str, work: Callable[[], Awaitable[T]]) -> T:
        """Check the right and do the work; record both in the audit log if the right is of a kind that is recorded."""
        if not is_recorded(self._right, cast(Principal, self._request.scope["principal"])):
            await self.check()
            return await work()
        status = 500
        try:
            await self.check()
            done = await work()
            status = 200
            return done
        except MlflowError as error:
            status = status_of(error)
            raise
        except FootplateError as error:
            status = error.status
            raise
        finally:
            await record(self._request, self._services, action, status)
