"""The files of a version: its models, where scripts look for them, and the worker's configuration.

For replicas on this machine they are in the home:

    serving/versions/<run>/config.json                                    written last
    serving/versions/<run>/app/azureml-models/<name>/<version>/<root>     the models; app is AML_APP_ROOT
    serving/sockets/<hash>-<replica>.sock                                 one for each replica

For replicas on other machines they are in the snapshot of the run, beside the files of the entry script. So nodes fetch
them by digest and keep them, as they do with those of any run:

    .footplate-service/config.json
    .footplate-service/azureml-models/<name>/<version>/<root>
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from footplate.content.manifest import FILE, PLAIN, ManifestEntry, parse_manifest, to_manifest
from footplate.disk import atomic_write
from footplate.domain.data import FOLDER
from footplate.domain.orders import DEFAULT_DATASTORE
from footplate.domain.records import ModelView
from footplate.domain.serving.endpoints import EndpointRecord, VersionRecord
from footplate.domain.serving.routes import OLDER
from footplate.domain.serving.worker_config import ServedModel, WorkerConfig
from footplate.storage import Storage

PACKED = ".footplate-service"
"""The directory for the files of a version in the snapshot of its replicas."""


class VersionFiles:
    def __init__(self, home: Path, store: Storage, bring: Callable[[str], None]) -> None:
        """`bring(digest)` makes sure that a blob is in the server's own folder."""
        self._root = home / "serving"
        self._store = store
        self._bring = bring

    def config(self, run: str) -> Path:
        return self._root / "versions" / run / "config.json"

    def socket(self, run: str, replica: str) -> str:
        short = hashlib.sha256(run.encode()).hexdigest()[:12]  # the path of a socket is at most 107 bytes long
        return str(self._root / "sockets" / f"{short}-{replica}.sock")

    def samples_path(self, record: EndpointRecord) -> Path:
        """Return the file that samples of requests and responses are appended to."""
        return self._root / "collected" / f"{record.route}.jsonl"

    def prepare(self, record: EndpointRecord, version: VersionRecord, models: Sequence[ModelView]) -> None:
        """Write the models and the configuration, once."""
        config = self.config(version.run)
        if config.exists():
            return
        app = config.parent / "app"
        for folder in (app, self._root / "sockets", self._root / "collected"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for model in models:
            self._place(app, model)
        content = replace(
            self._describe(record, version, models, str(app)),
            model_data=str(self.model_data(record.workspace)),
            socket=self.socket(version.run, "{replica}"),
        )
        atomic_write(config, content.encode(), durable=False, mode=0o600)

    def pack(self, record: EndpointRecord, version: VersionRecord, models: Sequence[ModelView]) -> str:
        """Store a snapshot with everything that replicas on other machines need; return its digest."""
        blobs, source = self._store.blobs, version.spec.snapshot
        entries = [] if source is None else parse_manifest(b"".join(blobs.read(source)))
        config = self._describe(record, version, models, "").encode()
        entries.append(ManifestEntry(f"{PACKED}/config.json", FILE, PLAIN, len(config), blobs.put_bytes(config)))
        for model in models:
            folder = f"{PACKED}/{_folder(model)}"
            entries += [ManifestEntry(f"{folder}/{f.path}", FILE, PLAIN, f.size, str(f.digest)) for f in model.files]
        return blobs.put_bytes(to_manifest(entries))

    def _describe(
        self, record: EndpointRecord, version: VersionRecord, models: Sequence[ModelView], root: str
    ) -> WorkerConfig:
        spec = version.spec
        return WorkerConfig(
            service=record.name,
            version=str(version.number),
            workspace=record.workspace,
            workspace_path=self._workspace_path(record.workspace),
            models=tuple(_describe_model(model, root) for model in models),
            entry_script=spec.entry_script,
            source="." if spec.entry_script else None,
            source_name=spec.definition.get("source_name"),
            model_root=root,
            options={"cpu_cores": spec.cpu_cores, "memory_gb": spec.memory_gb, "gpus": spec.gpus},
        )

    def _workspace_path(self, name: str) -> str:
        workspace = self._store.workspaces.get(name)
        return "/".join((workspace.subscription_id, workspace.resource_group, workspace.name))

    def model_data(self, workspace: str) -> Path:
        """Return the directory for files of ModelDataCollector: in the default datastore if it is on this machine."""
        store = self._store.datastores.access(workspace, DEFAULT_DATASTORE)
        return (Path(store.location["path"]) if store.kind == FOLDER else self._root / "collected") / "modeldata"

    def _place(self, app: Path, model: ModelView) -> None:
        folder = app / _folder(model)
        for file in model.files:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._bring(str(file.digest))
            self._store.blobs.copy_to(str(file.digest), str(target))

    def remove(self, run: str) -> None:
        """Remove the files of a version that has ended."""
        shutil.rmtree(self.config(run).parent, ignore_errors=True)
        prefix = os.path.basename(self.socket(run, ""))[: -len(".sock")]
        for path in (self._root / "sockets").glob(f"{prefix}*"):
            path.unlink(missing_ok=True)

    def forget(self, record: EndpointRecord) -> None:
        """Remove what is left of a deleted service."""
        for version in record.versions:
            self.remove(version.run)
        for path in (self.samples_path(record), Path(f"{self.samples_path(record)}{OLDER}")):
            path.unlink(missing_ok=True)


def _folder(model: ModelView) -> str:
    return f"azureml-models/{model.name}/{model.version}"


def _describe_model(model: ModelView, root: str) -> ServedModel:
    path = os.path.join(root, _folder(model), model.root)
    signature = model.options.get("signature")
    return ServedModel(model.name, model.version, path, model.framework, model.framework_version, signature)
