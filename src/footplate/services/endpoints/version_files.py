"""The files of a version on this machine: its models, where scripts look for them, and the worker's configuration.

serving/versions/<run>/config.json                                    written last
serving/versions/<run>/app/azureml-models/<name>/<version>/<root>     the models; app is AML_APP_ROOT
serving/sockets/<hash>-<replica>.sock                                 one for each replica
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from footplate.disk import atomic_write
from footplate.domain.data import FOLDER
from footplate.domain.datasets import DEFAULT_DATASTORE
from footplate.domain.records import ModelView
from footplate.domain.serving.endpoints import EndpointRecord, VersionRecord
from footplate.serving.gateway.routes import OLDER
from footplate.storage import Storage


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

    def collected(self, record: EndpointRecord) -> Path:
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
        described = [self._place(app, model) for model in models]
        spec = version.spec
        content: dict[str, Any] = {
            "service": record.name,
            "version": str(version.number),
            "workspace": record.workspace,
            "workspace_path": self._workspace_path(record.workspace),
            "model_data": str(self._model_data(record.workspace)),
            "socket": self.socket(version.run, "{replica}"),
            "models": described,
            "entry_script": spec.entry_script,
            "source": "." if spec.entry_script else None,
            "source_name": spec.definition.get("source_name"),
            "model_root": str(app),
            "options": {"cpu_cores": spec.cpu_cores, "memory_gb": spec.memory_gb, "gpus": spec.gpus},
        }
        atomic_write(config, json.dumps(content).encode(), durable=False, mode=0o600)

    def _workspace_path(self, name: str) -> str:
        workspace = self._store.workspaces.get(name)
        return "/".join((workspace.subscription_id, workspace.resource_group, workspace.name))

    def _model_data(self, workspace: str) -> Path:
        """Return the directory for files of ModelDataCollector: in the default datastore if it is on this machine."""
        store = self._store.datastores.access(workspace, DEFAULT_DATASTORE)
        return (Path(store.location["path"]) if store.kind == FOLDER else self._root / "collected") / "modeldata"

    def _place(self, app: Path, model: ModelView) -> dict[str, Any]:
        folder = app / "azureml-models" / model.name / str(model.version)
        for file in model.files:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._bring(str(file.digest))
            self._store.blobs.copy_to(str(file.digest), str(target))
        return {
            "name": model.name,
            "version": model.version,
            "path": str(folder / model.root),
            "framework": model.framework,
            "framework_version": model.framework_version,
            "signature": model.options.get("signature"),
        }

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
        for path in (self.collected(record), Path(f"{self.collected(record)}{OLDER}")):
            path.unlink(missing_ok=True)
