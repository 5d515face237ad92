"""What all datasets are: a definition that is carried out when somebody reads, with an id; under a name, versions."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
import uuid
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, Generator, List, Mapping, Optional, Sequence, Union, cast

from footplate.content.blobs import BlobFolder
from footplate.content.listing import Listing
from footplate.domain.codec import from_json
from footplate.domain.datasets import DatasetView, datastores_of
from footplate.sdk import blob_transfer
from footplate.sdk.data import worker_client
from footplate.sdk.data.changes import DatasetChanges
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.store_access import run_of_this_process, stores_of
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.labels import texts
from footplate.sdk.timestamps import utc_time

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

KINDS: Kinds = {"not_found": UserErrorException, "conflict": UserErrorException}


class AbstractDataset:
    """Base of FileDataset and TabularDataset. Objects do not change: every step gives another dataset."""

    kind = ""

    def __init__(
        self, definition: Dict[str, Any], workspace: Optional[Workspace] = None, view: Optional[DatasetView] = None
    ) -> None:
        self._definition = definition
        self._workspace = workspace
        self._view = view

    # ── identity ──

    @property
    def name(self) -> Optional[str]:
        return self._view.name if self._view else None

    @property
    def version(self) -> Optional[int]:
        return self._view.version if self._view else None

    @property
    def id(self) -> Optional[str]:
        """Known as soon as the dataset has been registered or handed to a run."""
        return self._view.id if self._view else None

    @property
    def description(self) -> Optional[str]:
        return self._view.description if self._view else None

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return dict(self._view.tags) if self._view else {}

    @property
    def data_changed_time(self) -> Optional[datetime]:
        """When the newest of its files was last changed; of a registered version, as it was then."""
        with self.listing() as files:
            newest = max((item.modified for item in files), default=0.0)
        return utc_time(newest) if newest else None

    # ── registering ──

    def register(
        self,
        workspace: Workspace,
        name: str,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        create_new_version: bool = False,
    ) -> Any:
        """Keep it under a name: the answer, not this object, has the version, and what it names now is pinned with it.

        A name that exists is an error unless `create_new_version`.
        """
        self._check_home(workspace)
        body = {
            "key": uuid.uuid4().hex,
            "name": name,
            "description": description,
            "tags": texts(tags or {}),
            "new_version": create_new_version,
            "listing": self._pin(workspace),
        }
        return self._kept(workspace, body)

    def _pin(self, workspace: Workspace) -> Optional[str]:
        """The digest of the listing of what the definition means now, in the server's store."""
        with self._enumerated(workspace) as path, worker_client.refusing():
            return blob_transfer.store_of(workspace.session).put_files([(path, None)])[0][0]

    def save(self, workspace: Workspace) -> Any:
        """The same dataset with an id, which the same definition always has; itself when it has one in `workspace`."""
        if self._view is not None and self._view.workspace == workspace.id:
            return self
        self._check_home(workspace)
        return self._kept(workspace, {"key": f"definition-{self.fingerprint()}"})

    def _check_home(self, workspace: Workspace) -> None:
        """Another workspace may have a datastore of the same name, and other data in it."""
        names, own = datastores_of(self._definition), self._workspace
        if names and own is not None and own.id != workspace.id:
            raise UserErrorException(
                f"the dataset lies in datastore {names[0]!r} of workspace {own.name!r}, not of {workspace.name!r}",
                hint=f"register that place as a datastore of {workspace.name!r}, and make the dataset of it there",
            )

    def fingerprint(self) -> str:
        """The same for the same definition."""
        text = json.dumps([self.kind, self._definition], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _kept(self, workspace: Workspace, body: Dict[str, Any]) -> Any:
        asked = dict(body, kind=self.kind, definition=self._definition, run=run_of_this_process())
        found = workspace.session.post(f"/workspaces/{workspace.id}/datasets", asked, KINDS)
        return type(self)(self._definition, workspace, from_json(DatasetView, found))

    def add_tags(self, tags: Mapping[str, Any]) -> Any:
        return self._change(tags=texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> Any:
        return self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def update(self, description: Optional[str] = None, tags: Optional[Mapping[str, Any]] = None) -> Any:
        """Replace the description, or the tags, or both."""
        change: Dict[str, Any] = {}
        if description is not None:
            change["description"] = description
        if tags is not None:
            change.update(tags=texts(tags), remove_tags=[key for key in self.tags if key not in tags])
        return self._change(**change)

    def _change(self, **change: Any) -> Any:
        workspace, view = self._registered()
        found = workspace.session.patch(f"/workspaces/{workspace.id}/dataset-ids/{view.id}", change, KINDS)
        self._view = from_json(DatasetView, found)
        return self

    def unregister_all_versions(self) -> None:
        """Give up the name. Runs and models that used a version still know it."""
        workspace, view = self._registered()
        workspace.session.delete(f"/workspaces/{workspace.id}/datasets/{view.name}", KINDS)
        self._view = None

    def _registered(self) -> Any:
        if self._workspace is None or self._view is None or self._view.name is None:
            raise UserErrorException(
                "the dataset is not registered", hint="use what register returns: ds = ds.register(workspace, name)"
            )
        return self._workspace, self._view

    # ── reading ──

    @contextmanager
    def listing(self) -> Generator[Listing, None, None]:
        """The files: those that the version pins, else what the definition means now."""
        with self._listing_file() as path, worker_client.refusing(), Listing(path) as files:
            yield files

    @contextmanager
    def _listing_file(self) -> Generator[str, None, None]:
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            pinned = self._pinned_listing(aside)
            if pinned is not None:
                yield pinned
                return
        with self._enumerated(self._workspace) as path:
            yield path

    def _pinned_listing(self, aside: str) -> Optional[str]:
        """The file of the listing that this version pins: in the store of this machine, else fetched to `aside`."""
        digest = self._pinned()
        if digest is None:
            return None
        session = cast("Workspace", self._workspace).session
        store = blob_transfer.store_of(session)
        if isinstance(store, BlobFolder):
            return store.path(digest)
        path = os.path.join(aside, "pinned")
        blob_transfer.fetch(session, digest, path)
        return path

    def _pinned(self) -> Optional[str]:
        """The digest of the listing that this version pins."""
        return self._view.listing if self._view else None

    @contextmanager
    def _enumerated(self, workspace: Optional[Workspace]) -> Generator[str, None, None]:
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            path = os.path.join(aside, "listing")
            stores = stores_of(workspace, self._definition)
            worker_client.call("enumerate", {"definition": self._file_definition(), "stores": stores, "target": path})
            yield path

    def _file_definition(self) -> Dict[str, Any]:
        """The definition of the files that it is made of."""
        return self._definition

    def _stores(self) -> Dict[str, Any]:
        return stores_of(self._workspace, self._definition)

    def verify(self) -> DatasetChanges:
        """What changed since this version was registered: files that came, went, or are not what they were."""
        _, view = self._registered()
        with self._listing_file() as path:
            arguments = {"listing": path, "definition": self._file_definition(), "stores": self._stores()}
            return DatasetChanges(f"{view.name}:{view.version}", **worker_client.call("compare", arguments))

    def _note_read(self) -> None:
        """Inside a job: the run has read this, although it was not submitted with it."""
        run = run_of_this_process()
        if run is None or self._workspace is None:
            return
        kept = self.save(self._workspace)
        body = {"dataset": kept.id, "name": kept.name or f"input_{kept.id[:8]}"}
        self._workspace.session.post(f"/runs/{run}/datasets", body)

    # ── for runs ──

    def as_named_input(self, name: str) -> DatasetConsumptionConfig:
        return DatasetConsumptionConfig(name, self)

    def _with(self, step: Dict[str, Any]) -> Any:
        steps: List[Any] = [*self._definition.get("steps", ()), step]
        return type(self)(dict(self._definition, steps=steps, **self._origin()), self._workspace)

    def _origin(self) -> Dict[str, str]:
        """For what is made of this: of which version, so that who reads it is known to have read that."""
        return {"of": self._view.id} if self._view and self._view.name else {}

    def __deepcopy__(self, memo: Any) -> Any:
        """A run configuration is copied when it is submitted; the connection behind a workspace is not to be."""
        return copy.copy(self)

    def __repr__(self) -> str:
        known = {"id": self.id, "name": self.name, "version": self.version, "sources": self._definition["sources"]}
        shown = ", ".join(f"{key}={value!r}" for key, value in known.items() if value is not None)
        return f"{type(self).__name__}({shown})"
