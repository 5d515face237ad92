"""The base of all datasets: a definition, evaluated on reading, with an id; under a name, it has versions."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import tempfile
import uuid
from contextlib import contextmanager
from datetime import datetime
from numbers import Integral
from typing import Any, Dict, Generator, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast

from footplate.content.blobs import BlobFolder
from footplate.content.listing import Listing
from footplate.domain import tables
from footplate.domain.datasets import DatasetView, datastores_of
from footplate.domain.requests import NewDataset
from footplate.sdk import blob_transfer
from footplate.sdk.data import worker_client
from footplate.sdk.data.changes import DatasetChanges
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.expressions import Expression
from footplate.sdk.data.store_access import run_of_this_process, stores_of
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.session import translating
from footplate.sdk.values.labels import texts
from footplate.sdk.values.timestamps import utc_time
from footplate.sdk.values.wrong_types import explained

D = TypeVar("D", bound="AbstractDataset")
INVALID: Kinds = {"invalid": UserErrorException}
KINDS: Kinds = {"not_found": UserErrorException, "conflict": UserErrorException}


@explained
class AbstractDataset:
    """The base of FileDataset and TabularDataset. Objects are immutable: every step returns a new dataset.

    Args:
        definition: The sources and steps of the dataset.
        workspace: The workspace of its datastores.
        view: The registered version.

    Example:
        datastore = ws.get_default_datastore()
        datastore.upload("src", "code", show_progress=False)
        dataset = Dataset.File.from_files((datastore, "code"))
        dataset = dataset.register(ws, "code", create_new_version=True)
        dataset.add_tags({"stage": "raw"})
        dataset.remove_tags(["stage"])
        dataset.update(description="the training code")
        with dataset.listing() as files:
            print([file.name for file in files])
        print(dataset.save(ws).id, dataset.fingerprint(), dataset.verify())
        first, others = dataset.take(10).skip(0).random_split(0.5, seed=1)
        sample = dataset.take_sample(0.5, seed=1).filter(dataset["year"] > "2020")
        config = ScriptRunConfig("src", "train.py", arguments=["--data", dataset.as_named_input("code").as_download()])
        dataset.unregister_all_versions()
    """

    kind = ""
    _condition = ""  # an example of one, for messages

    def __init__(
        self, definition: Dict[str, Any], workspace: Optional[Workspace] = None, view: Optional[DatasetView] = None
    ) -> None:
        self._definition = definition
        self._workspace = workspace
        self._view = view

    # ── identity ──

    @property
    def name(self) -> Optional[str]:
        """The name under which it is registered, or None."""
        return self._view.name if self._view else None

    @property
    def version(self) -> Optional[int]:
        """The version, or None if it is not registered."""
        return self._view.version if self._view else None

    @property
    def id(self) -> Optional[str]:
        """The id, which it has once it was registered or passed to a run."""
        return self._view.id if self._view else None

    @property
    def description(self) -> Optional[str]:
        """The description of the registered version."""
        return self._view.description if self._view else None

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags of the registered version."""
        return dict(self._view.tags) if self._view else {}

    @property
    def data_changed_time(self) -> Optional[datetime]:
        """The time of the last change to any file; for a registered version, as of its registration."""
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
        """Register the dataset under a name, and pin its current files.

        Args:
            workspace: The workspace.
            name: The name.
            description: A text about the dataset.
            tags: Tags of the version.
            create_new_version: Whether an existing name gets a new version.

        Returns:
            The registered dataset. It has the version; this object does not.

        Raises:
            UserErrorException: The name exists and `create_new_version` is False, or the datastores belong
                to another workspace.
        """
        self._check_workspace(workspace)
        body = {
            "key": uuid.uuid4().hex,
            "name": name,
            "description": description,
            "tags": texts(tags or {}),
            "new_version": create_new_version,
            "listing": self._pin(workspace),
        }
        return self._save(workspace, body)

    def _pin(self, workspace: Workspace) -> Optional[str]:
        """Store the listing of the current files on the server, and return its digest."""
        with self._write_listing(workspace) as path, worker_client.translating_errors():
            return blob_transfer.store_of(workspace.session).put_files([(path, None)])[0][0]

    def save(self, workspace: Workspace) -> Any:
        """Give the dataset an id, which is the same for equal definitions.

        Args:
            workspace: The workspace.

        Returns:
            The dataset with its id; itself if it already has one.

        Raises:
            UserErrorException: The datastores belong to another workspace.
        """
        if self._view is not None and self._view.workspace == workspace.id:
            return self
        self._check_workspace(workspace)
        return self._save(workspace, {"key": f"definition-{self.fingerprint()}"})

    def _check_workspace(self, workspace: Workspace) -> None:
        """Refuse another workspace, whose datastore of the same name may hold other data."""
        names = datastores_of(self._definition)
        own = self._workspace
        if names and own is not None and own.id != workspace.id:
            raise UserErrorException(
                f"the dataset is in datastore {names[0]!r} of workspace {own.name!r}, not of {workspace.name!r}",
                hint=f"register that location as a datastore of {workspace.name!r}, and create the dataset there",
            )

    def fingerprint(self) -> str:
        """Return a digest that is equal for equal definitions.

        Returns:
            64 hexadecimal digits.
        """
        text = json.dumps([self.kind, self._definition], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _save(self, workspace: Workspace, body: Dict[str, Any]) -> Any:
        new = NewDataset(kind=self.kind, definition=self._definition, run=run_of_this_process(), **body)
        view = workspace.session.api_for(KINDS).datasets.register(workspace.id, new)
        return type(self)(self._definition, workspace, view)

    def add_tags(self, tags: Mapping[str, Any]) -> Any:
        """Add tags to the registered version, or replace their values.

        Args:
            tags: Values by name.

        Returns:
            This dataset.

        Raises:
            UserErrorException: The dataset is not registered.
        """
        return self._change(tags=texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> Any:
        """Remove tags from the registered version.

        Args:
            tags: One name, or several.

        Returns:
            This dataset.

        Raises:
            UserErrorException: The dataset is not registered.
        """
        return self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def update(self, description: Optional[str] = None, tags: Optional[Mapping[str, Any]] = None) -> Any:
        """Replace the description, the tags, or both.

        Args:
            description: The new description.
            tags: The new tags; others are removed.

        Returns:
            This dataset.

        Raises:
            UserErrorException: The dataset is not registered.
        """
        change: Dict[str, Any] = {}
        if description is not None:
            change["description"] = description
        if tags is not None:
            change.update(tags=texts(tags), remove_tags=[key for key in self.tags if key not in tags])
        return self._change(**change)

    def _change(self, **change: Any) -> Any:
        workspace, view = self._require_registered()
        self._view = workspace.session.api_for(KINDS).datasets.change(workspace.id, view.id, **change)
        return self

    def unregister_all_versions(self) -> None:
        """Remove the name. Runs and models that used a version still know it.

        Raises:
            UserErrorException: The dataset is not registered.
        """
        workspace, view = self._require_registered()
        workspace.session.api_for(KINDS).datasets.unregister(workspace.id, view.name)
        self._view = None

    def _require_registered(self) -> Any:
        if self._workspace is None or self._view is None or self._view.name is None:
            raise UserErrorException(
                "the dataset is not registered",
                hint="use the object that register returns: ds = ds.register(workspace, name)",
            )
        return self._workspace, self._view

    # ── reading ──

    @contextmanager
    def listing(self) -> Generator[Listing, None, None]:
        """Open the listing of the files that the version pins, or else of the current ones.

        Returns:
            A context with an iterator of files, each with `name`, `size` and `modified`.
        """
        with self._listing_file() as path, worker_client.translating_errors(), Listing(path) as files:
            yield files

    @contextmanager
    def _listing_file(self) -> Generator[str, None, None]:
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            pinned = self._fetch_pinned_listing(aside)
            if pinned is not None:
                yield pinned
                return
        with self._write_listing(self._workspace) as path:
            yield path

    def _fetch_pinned_listing(self, aside: str) -> Optional[str]:
        """Return the file of the pinned listing: in this machine's store, or else fetched to `aside`."""
        digest = self._pinned_digest()
        if digest is None:
            return None
        session = cast("Workspace", self._workspace).session
        store = blob_transfer.store_of(session)
        if isinstance(store, BlobFolder):
            return store.checked_path(digest)
        path = os.path.join(aside, "pinned")
        blob_transfer.fetch(session, digest, path)
        return path

    def _pinned_digest(self) -> Optional[str]:
        """Return the digest of the pinned listing."""
        return self._view.listing if self._view else None

    @contextmanager
    def _write_listing(self, workspace: Optional[Workspace]) -> Generator[str, None, None]:
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            path = os.path.join(aside, "listing")
            stores = stores_of(workspace, self._definition)
            worker_client.call("enumerate", {"definition": self._file_definition(), "stores": stores, "target": path})
            yield path

    def _file_definition(self) -> Dict[str, Any]:
        """Return the definition of the underlying files."""
        return self._definition

    def _stores(self) -> Dict[str, Any]:
        return stores_of(self._workspace, self._definition)

    def verify(self) -> DatasetChanges:
        """Return the files added, removed and changed since this version was registered.

        Returns:
            The changes.

        Raises:
            UserErrorException: The dataset is not registered.
        """
        _, view = self._require_registered()
        with self._listing_file() as path:
            arguments = {"listing": path, "definition": self._file_definition(), "stores": self._stores()}
            return DatasetChanges(f"{view.name}:{view.version}", **worker_client.call("compare", arguments))

    def _record_read(self) -> None:
        """Inside a job: record that the run reads this dataset, although it was not submitted with it."""
        run = run_of_this_process()
        if run is None or self._workspace is None:
            return
        saved = self.save(self._workspace)
        self._workspace.session.api.datasets.note_read(run, saved.id, saved.name or f"input_{saved.id[:8]}")

    # ── choosing ──

    def take(self: D, count: int) -> D:
        """Keep the first files or rows.

        Args:
            count: How many.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: `count` is not a whole number of at least 0.
        """
        with translating(INVALID):
            return self._with(tables.take(count))

    def skip(self: D, count: int) -> D:
        """Leave out the first files or rows.

        Args:
            count: How many.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: `count` is not a whole number of at least 0.
        """
        with translating(INVALID):
            return self._with(tables.skip(count))

    def take_sample(self: D, probability: float, seed: Optional[int] = None) -> D:
        """Draw each file or row with a probability.

        Args:
            probability: From 0 to 1.
            seed: The seed; without one it is drawn now, so that every reading gives the same files or rows.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: A value is not valid.
        """
        with translating(INVALID):
            return self._with(tables.sample(probability, _fix_seed(seed)))

    def random_split(self: D, percentage: float, seed: Optional[int] = None) -> Tuple[D, D]:
        """Split into two disjoint datasets.

        Args:
            percentage: The share of files or rows in the first dataset, from 0 to 1.
            seed: The seed; without one it is drawn now, so that every reading gives the same files or rows.

        Returns:
            Two new datasets.

        Raises:
            UserErrorException: A value is not valid.
        """
        fixed_seed = _fix_seed(seed)
        with translating(INVALID):
            first, second = (tables.split(percentage, fixed_seed, first=part) for part in (True, False))
        return self._with(first), self._with(second)

    def filter(self: D, expression: Expression) -> D:
        """Keep the files or rows that match an expression.

        Args:
            expression: A comparison of columns of a table, such as `table["age"] > 30`; of files, of
                `dataset.file_metadata["Size"]` or of a column of the partition, `dataset["year"]`. Combine them with
                `&`, `|` and `~`.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: It is not an expression.
        """
        if not isinstance(expression, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(
                f"filter takes an expression, not {expression!r}", hint=f"ds.filter({self._condition})"
            )
        return self._with(tables.where(expression.data))

    # ── for runs ──

    def as_named_input(self, name: str) -> DatasetConsumptionConfig:
        """Make the dataset an input of a run under a name.

        Args:
            name: Letters, digits and `_`. The script finds it in `run.input_datasets`.

        Returns:
            The input, for the arguments of a ScriptRunConfig.

        Raises:
            UserErrorException: The name is not valid.
        """
        return DatasetConsumptionConfig(name, self)

    def _with(self, step: Dict[str, Any]) -> Any:
        return self._derive(steps=[*self._definition.get("steps", ()), step])

    def _derive(self, **parts: Any) -> Any:
        """Return a dataset with other parts. Its readers count as readers of the version that it comes from."""
        origin = {"of": self._view.id} if self._view and self._view.name else {}
        return type(self)(dict(self._definition, **parts, **origin), self._workspace)

    def __deepcopy__(self, memo: Any) -> Any:
        """Share the workspace: a submitted run configuration is copied, but the connection must not be."""
        return copy.copy(self)

    def __repr__(self) -> str:
        fields = {"id": self.id, "name": self.name, "version": self.version, "sources": self._definition["sources"]}
        text = ", ".join(f"{key}={value!r}" for key, value in fields.items() if value is not None)
        return f"{type(self).__name__}({text})"

    def _repr_html_(self) -> str:
        columns = {"Type": type(self).__name__, "Name": self.name, "Version": self.version}
        return notebooks.row({**columns, "Sources": len(self._definition["sources"])})


def _fix_seed(seed: Optional[int]) -> int:
    if seed is not None and not isinstance(seed, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"seed is {seed!r}", hint="give a whole number")
    return random.randrange(1 << 31) if seed is None else int(seed)
