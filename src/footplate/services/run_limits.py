"""The limits of a run as a submitter: what it submits uses nothing that the run itself may not use.

So a child has at most its parent's rights. Datastores without credentials are open to every run of the workspace: there
is nothing to protect that the machine does not protect itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from footplate.domain.codec import to_json
from footplate.domain.records import ModelView, RunView
from footplate.domain.specs import RunSpec
from footplate.environments.url_credentials import Logins
from footplate.errors import NotAllowed, NotFound
from footplate.services.datastores import DatastoreService
from footplate.storage import Storage

View = Callable[[str], RunView]


class RunLimits:
    def __init__(self, store: Storage, datastores: DatastoreService) -> None:
        self._store = store
        self._datastores = datastores

    def check_submission(self, submitter: str, spec: RunSpec, brought: Logins) -> None:
        """Raise NotAllowed if the run `submitter` may not submit this. `brought`: logins that came with the request."""
        if spec.parent is not None:
            self.check_claim(submitter, spec.parent)
        for each in _with_children(spec):
            for name in self._datastores.list_named(each):
                self._datastores.access_for_run(submitter, name)  # raises NotAllowed
        self._check_logins(submitter, spec, brought)

    def check_claim(self, submitter: str, run: str) -> None:
        """Raise NotAllowed if the run `submitter` may not create objects in the name of `run`."""
        if not is_within(run, submitter, self._store.runs.view):
            raise NotAllowed(
                f"run {submitter} may not create objects of run {run!r}", "name the run itself or a run below it"
            )

    def check_model_change(self, run: str, model: ModelView) -> None:
        """Raise NotAllowed unless the model came from the run or one below it: others serve it with what it needs."""
        if not is_within(model.run, run, self._store.runs.view):
            raise NotAllowed(
                f"run {run} may tag model {model.name}:{model.version}, but not change its resources or options",
                "change them from outside the run, or register a new version in the run",
            )

    def _check_logins(self, submitter: str, spec: RunSpec, brought: Logins) -> None:
        """Raise NotAllowed for an address whose stored login the submitter does not have, or would replace."""
        stored = Logins(self._store.logins.all())
        if not stored.by_address:
            return
        record = self._store.runs.record(submitter)
        own = stored.named_in([to_json(record.spec.environment), self._lock(record.lock)])
        for each in _with_children(spec):
            needed = stored.named_in([to_json(each.environment), self._lock(each.lock)])
            for address in {
                *needed.by_address,
                *(stored.by_address.keys() & brought.by_address),
            } - own.by_address.keys():
                if brought.by_address.get(address) != stored.by_address[address]:
                    raise NotAllowed(
                        f"run {submitter} may not use or replace the stored login of {address}",
                        "submit from outside the run, or give the run an environment that uses this address",
                    )

    def _lock(self, digest: str | None) -> Any:
        return None if digest is None else self._store.locks.get(digest).content


def _with_children(spec: RunSpec) -> Iterator[RunSpec]:
    yield spec
    if spec.controller is not None:
        for child in spec.controller.children.values():
            yield from _with_children(child)


def are_related(run: str, other: str, view: View) -> bool:
    """Whether two runs are the same, or one is an ancestor of the other."""
    return is_within(other, run, view) or is_within(run, other, view)


def is_within(candidate: str | None, run: str, view: View) -> bool:
    """Whether `candidate` is the run or one of its descendants."""
    seen: set[str] = set()
    while candidate is not None and candidate not in seen:
        if candidate == run:
            return True
        seen.add(candidate)
        try:
            candidate = view(candidate).parent
        except NotFound:
            return False
    return False
