"""Steps of pipelines at the moment they start: the data that earlier steps wrote, and results that can be reused."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from footplate.content.listing import Listing
from footplate.data.resolve import resolve, stores_or_web
from footplate.data.stores.registry import open_store
from footplate.domain.data import Item, StoreSpec
from footplate.domain.datasets import DatasetView, datastores_of
from footplate.domain.orders import DataInput
from footplate.domain.pipelines import reuse
from footplate.domain.pipelines.graph import REUSED, PipelineStep, StepInput, pipeline_of
from footplate.domain.records import RunRecord, RunView
from footplate.domain.requests import NewDataset
from footplate.domain.runs.controllers import child_id
from footplate.domain.runs.run_kinds import GROUP
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import FootplateError, InvalidInput, NotFound
from footplate.services.datasets import DatasetService
from footplate.services.datastores import DatastoreService
from footplate.storage import RunQuery, Storage
from footplate.storage.lineage import WROTE

_MOST_DIGESTS = 100_000
_CHECKED_FILES = 100
"""How many files of an earlier output are looked at before it is reused."""


class PreparedStep(NamedTuple):
    """The spec of a step's run, and the line about it for the log of the pipeline."""

    spec: RunSpec
    line: str


class StepPreparer:
    """Completes the spec of a step. The server calls it once for each step, right before it submits the run."""

    def __init__(self, store: Storage, datasets: DatasetService, datastores: DatastoreService) -> None:
        self._store = store
        self._datasets = datasets
        self._datastores = datastores
        self._contents = ContentDigests()

    def prepare(self, group: RunRecord, key: str, spec: RunSpec) -> PreparedStep:
        assert group.spec.controller is not None
        pipeline = pipeline_of(group.spec.controller)
        step = pipeline.steps[key]
        inputs = tuple(self._input(group, step, each) for each in step.inputs)
        whole = replace(spec, inputs=(*spec.inputs, *inputs))
        digests = {each.name: self._digest(group.workspace, each) for each in whole.inputs}
        parts = reuse.parts_of(step, spec, digests)
        key_digest = reuse.key_of(parts)
        earlier = self._find(group.workspace, reuse.KEY, key_digest)
        reason = self._reason_to_run(group, step, pipeline.regenerate, parts, earlier)
        if reason is None:
            assert earlier is not None
            return PreparedStep(_reused(spec, earlier), f"step {step.name} is reused from {earlier.id}")
        properties = {
            **whole.properties, reuse.KEY: key_digest, reuse.PARTS: json.dumps(parts), reuse.REASON: f"runs {reason}",
        }  # fmt: skip
        return PreparedStep(replace(whole, properties=properties), f"step {step.name} runs {reason}")

    # ── Reuse ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reason_to_run(
        self, group: RunRecord, step: PipelineStep, regenerate: bool, parts: reuse.Parts, earlier: RunView | None
    ) -> str | None:
        """Return why the step runs; None if the result of the earlier run is as good."""
        if regenerate:
            return "because the pipeline was submitted to regenerate its outputs"
        if not step.allow_reuse:
            return "because it does not allow reuse"
        if earlier is not None:
            lost = self._lost_output(earlier)
            return None if lost is None else f"because output {lost!r} of {earlier.id} has changed or is gone"
        last = self._find(group.workspace, reuse.STEP, step.name, group.spec.experiment)
        if last is None:
            return "because it has not completed before"
        before: reuse.Parts = json.loads(last.properties.get(reuse.PARTS, "{}"))
        return f"because {reuse.explain_difference(parts, before)} since {last.id}"

    def _find(self, workspace: str, name: str, value: str, experiment: str | None = None) -> RunView | None:
        """Return the newest run with this property that was executed and has completed."""
        properties = ((name, value), (reuse.PARTS, None))
        query = RunQuery(
            workspace, experiment, status=("Completed",), properties=properties, parent="any", limit=1
        )  # fmt: skip
        views, _ = self._store.runs.list(query)
        return views[0] if views else None

    def _lost_output(self, run: RunView) -> str | None:
        """Return the name of an output of the run whose files are not as the run left them."""
        for use in self._datasets.of_run(run.id):
            if use.role == WROTE and not self._is_intact(self._datasets.by_id(run.workspace, use.dataset)):
                return use.name
        return None

    def _is_intact(self, dataset: DatasetView) -> bool:
        stores = self._stores(dataset)
        try:
            for item in self._pinned(dataset, _CHECKED_FILES):
                if open_store(stores[item.store]).stat(item.source).etag != item.etag:
                    return False
        except (NotFound, KeyError):
            return False
        return True

    # ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _input(self, group: RunRecord, step: PipelineStep, each: StepInput) -> DataInput:
        """Return the input that another step wrote, now that its run is known."""
        producer = self._store.runs.view(child_id(group.id, each.step))
        producer_id = producer.properties.get(reuse.REUSED_RUN, producer.id)
        uses = [u for u in self._datasets.of_run(producer_id) if u.role == WROTE and u.name == each.output]
        if not uses:
            raise InvalidInput(
                f"step {step.name!r} reads output {each.output!r} of run {producer_id}, which wrote nothing there",
                "let that script write at least one file into the folder that it gets as argument",
            )
        written = self._datasets.by_id(group.workspace, uses[0].dataset)
        if each.table is not None:
            written = self._as_table(group, written, each.table)
        return DataInput(each.name, dataset=written.id, mode=each.mode, path_on_compute=each.path_on_compute)

    def _as_table(self, group: RunRecord, written: DatasetView, table: Mapping[str, Any]) -> DatasetView:
        form = dict(table)
        glob = form.pop("glob", "")
        sources: list[dict[str, Any]] = [
            {**source, "path": "/".join(part for part in (source["path"], glob) if part)}
            for source in written.definition["sources"]
        ]
        if written.kind == "tabular" and written.definition == {"sources": sources, **form}:
            return written
        definition = {"sources": sources, **form}
        request = hashlib.sha256(json.dumps([written.id, definition], sort_keys=True).encode()).hexdigest()
        return self._datasets.register(group.workspace, NewDataset(request, "tabular", definition))

    def _digest(self, workspace: str, each: DataInput) -> str:
        """Return the digest of an input's content, whatever its name and its place."""
        if each.dataset is not None:
            dataset = self._datasets.by_id(workspace, each.dataset)
        else:
            source = {"datastore": each.datastore, "path": each.path or "/"}
            dataset = DatasetView("", workspace, "file", 0.0, {"sources": [source]})
        form = {name: value for name, value in dataset.definition.items() if name not in ("sources", "of")}
        try:
            items = list(self._pinned(dataset) if dataset.listing else self._resolved(dataset))
            content = self._contents.of_items(items, self._stores(dataset))
        except (FootplateError, OSError) as error:
            # A query, a lost store: nobody knows whether the content is the same.
            return f"{reuse.UNKNOWN} ({error}) {uuid.uuid4()}"
        return reuse.digest([form, content])

    def _pinned(self, dataset: DatasetView, limit: int | None = None) -> Iterator[Item]:
        if dataset.listing is None:
            return
        with Listing(self._store.blobs.checked_path(dataset.listing)) as listing:
            yield from listing if limit is None else listing.page(limit)

    def _resolved(self, dataset: DatasetView) -> Iterable[Item]:
        return resolve(dataset.definition, self._stores(dataset), if_nothing="pass")

    def _stores(self, dataset: DatasetView) -> Mapping[str, StoreSpec]:
        names = datastores_of(dataset.definition)
        return stores_or_web({name: self._datastores.access(dataset.workspace, name) for name in names})


class ContentDigests:
    """Digests of files in stores. A file is read once, unless its store has a digest of it; its ETag tells changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], str] = {}

    def of_items(self, items: Iterable[Item], stores: Mapping[str, StoreSpec]) -> str:
        files = sorted(
            (item.name, self._of(item, stores.get(item.store) or next(iter(stores.values())))) for item in items
        )
        return reuse.digest(files)

    def _of(self, item: Item, spec: StoreSpec) -> str:
        if item.digest:
            return item.digest
        store = open_store(spec)
        if store.folder is None:
            return item.etag
        place = (spec.identity(), item.source, item.etag)
        if place not in self._known:
            digest = hashlib.sha256()
            for chunk in store.stream(item.source, etag=item.etag):
                digest.update(chunk)
            while len(self._known) >= _MOST_DIGESTS:
                del self._known[next(iter(self._known))]
            self._known[place] = digest.hexdigest()
        return self._known[place]


def _reused(spec: RunSpec, earlier: RunView) -> RunSpec:
    """Return the spec of a run that stands for an earlier one, without nodes."""
    properties = {**spec.properties, reuse.REUSED_RUN: earlier.id, reuse.REASON: f"reused from {earlier.id}"}
    return RunSpec(
        spec.experiment, GROUP, type=spec.type, name=spec.name, display_name=spec.display_name, tags=spec.tags,
        properties=properties, definition=spec.definition, parent=spec.parent, snapshot=spec.snapshot,
        controller=ControllerSpec(REUSED, interval=0),
    )  # fmt: skip
