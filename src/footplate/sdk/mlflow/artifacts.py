"""Files of runs and of registered models, as MLflow's artifacts."""

from __future__ import annotations

import os
import posixpath
from typing import Any, Dict, List, Optional, Tuple

from mlflow.entities import FileInfo
from mlflow.store.artifact.artifact_repo import ArtifactRepository

from footplate.domain.records import FileView
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.local_files import data_below
from footplate.sdk.mlflow import addresses
from footplate.sdk.models.model import Model
from footplate.sdk.runs import files


class ArtifactStore(ArtifactRepository):
    """The files below one address. Those of a run can be written, those of a model only read."""

    def __init__(self, artifact_uri: str, *more: Any, **options: Any) -> None:
        super().__init__(artifact_uri, *more, **options)
        self._place = addresses.files_at(artifact_uri)
        self._workspace = addresses.open_workspace(artifact_uri)

    def log_artifact(self, local_file: Any, artifact_path: Optional[str] = None) -> None:
        path = str(local_file)
        self._upload([(_join(artifact_path, os.path.basename(path)), path)])

    def log_artifacts(self, local_dir: Any, artifact_path: Optional[str] = None) -> None:
        self._upload([(_join(artifact_path, below), file) for file, below in data_below(str(local_dir))])

    def _upload(self, sources: List[Tuple[str, str]]) -> None:
        place = self._place
        if isinstance(place, addresses.ModelFiles):
            raise UserErrorException(
                f"model {place.name}:{place.version} is registered, and its files do not change",
                hint="log them to a run and register a new version",
            )
        named = [(_join(place.path, name), file) for name, file in sources]
        files.upload(self._workspace.session, place.run, named, overwrite=True)

    def list_artifacts(self, path: Optional[str] = None) -> List[FileInfo]:
        folder = (path or "").strip("/")
        entries: Dict[str, FileInfo] = {}
        for name, file in self._files().items():
            inside = name[len(folder) :].lstrip("/") if folder else name
            if name == folder or not (name.startswith(folder + "/") or not folder):
                continue
            step, mark, _ = inside.partition("/")
            full = _join(folder, step)
            entries[full] = FileInfo(full, True, None) if mark else FileInfo(full, False, file.size)
        return [entries[name] for name in sorted(entries)]

    def _download_file(self, remote_file_path: str, local_path: str) -> None:
        file = self._files().get(remote_file_path.strip("/"))
        if file is None:
            raise UserErrorException(
                f"{self.artifact_uri} has no file {remote_file_path!r}",
                hint=f"it has: {', '.join(sorted(self._files())[:10]) or 'no files'}",
            )
        run_id = self._place.run if isinstance(self._place, addresses.RunFiles) else ""  # models have no logs
        files.fetch_file(self._workspace.session, run_id, file, local_path)

    def _files(self) -> Dict[str, FileView]:
        """Return the files by their path below the address."""
        place = self._place
        if isinstance(place, addresses.ModelFiles):
            view = Model(self._workspace, place.name, version=place.version).view
            folder = view.root if view.root not in [file.path for file in view.files] else ""
            return _below(_join(folder, place.path), view.files)
        return _below(place.path, files.listing(self._workspace.session, place.run, place.path))


def _below(folder: str, files: Any) -> Dict[str, FileView]:
    """Return the files in a folder by their path in it. If the address names a file, its own name is that path."""
    below = {file.path[len(folder) + 1 :] if folder else file.path: file for file in files
             if not folder or file.path.startswith(folder + "/")}  # fmt: skip
    return below or {posixpath.basename(folder): file for file in files if file.path == folder}


def _join(*parts: Optional[str]) -> str:
    return posixpath.join(*(part for part in parts if part)) if any(parts) else ""
