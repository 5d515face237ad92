"""The source of a model version: the run or logged model that it came from, and its files if they are here."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import urlsplit

from footplate.domain.records import FileView
from footplate.domain.runs.tracking import LoggedModel
from footplate.errors import NotFound
from footplate.server.mlflow import artifact_paths, logged_models
from footplate.server.mlflow.artifact_paths import Place
from footplate.server.mlflow.call import Call
from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.memory_search import PROMPT

_LOGGED = re.compile(r"models:/(m-[0-9a-f]{32})/?")
_REGISTERED = re.compile(r"models:/([^/@]+)(?:/([^/@]+)|@([^/@]+))")
_RUN = re.compile(r"runs:/+([^/]+)(?:/(.*))?")
_VERSIONS = "mlflow.modelVersions"


@dataclass(frozen=True)
class Origin:
    """Where a version comes from. `location`: the address of its files, if the source only refers to a model."""

    source: str
    run: str = ""
    model: str = ""
    location: str = ""
    root: str = ""
    files: tuple[FileView, ...] = ()


def resolve(call: Call, source: str, run: str, model: str, tags: Mapping[str, str]) -> Origin:
    """Return the origin of a version; raise for a source that its run or model does not contain."""
    if tags.get(PROMPT, "false").lower() == "true":
        return Origin(source, run, model)
    _check(source, model)
    registered = _REGISTERED.fullmatch(source) if not _LOGGED.fullmatch(source) else None
    if registered:
        return _of_version(call, registered, run, model)
    if model or _LOGGED.fullmatch(source):
        return _of_model(call, source, run, model)
    place = _place_of_run(source, run)
    if place is None:
        return Origin(source, run)
    return _with_files(call, place, Origin(source, run))


def _check(source: str, model: str) -> None:
    parts = urlsplit(source)
    if not parts.scheme or parts.scheme == "file":
        field = "run_id" if not model else "model_id"
        owner = "the run specified by the run_id" if not model else "the run specified by the model_id"
        raise MlflowError(
            f"Invalid model version source: '{source}'. To use a local path as a model version source, the {field} "
            "request parameter has to be specified and the local path has to be contained within the artifact "
            f"directory of {owner}."
        )
    path = re.sub(r"/+", "/", parts.path.rstrip("/"))
    try:
        artifact_paths.safe_path(path.lstrip("/"))
        is_plain = not path or posixpath.normpath(path) == path
    except MlflowError:
        is_plain = False
    if not is_plain:
        raise MlflowError(
            f"Invalid model version source: '{source}'. If supplying a source as an http, https, local file path, "
            "ftp, objectstore, or mlflow-artifacts uri, an absolute path must be provided without relative path "
            "references present. Please provide an absolute path."
        )


def _of_version(call: Call, match: re.Match[str], run: str, model: str) -> Origin:
    """Return the origin of a copy of another version."""
    store = call.services.store.models
    name, version, alias = match[1], match[2], match[3]
    views = [view for view in store.list(call.workspace, name) if version in (None, "latest", str(view.version))]
    views = [view for view in views if alias is None or alias in view.aliases]
    if not views:
        place = f"alias={alias}" if alias else f"version={version}"
        raise MlflowError(f"Model Version (name={name}, {place}) not found", "RESOURCE_DOES_NOT_EXIST")
    view = max(views, key=lambda each: each.version)
    details = view.options.get("mlflow", {})
    location = details.get("location") or details.get("source") or (
        f"mlflow-artifacts:/registered-models/{name}/{view.version}/artifacts"
    )  # fmt: skip
    origin = Origin(f"models:/{name}/{view.version}", run or view.run or "", model or details.get("model_id", ""))
    return replace(origin, location=location, root=view.root, files=view.files)


def _of_model(call: Call, source: str, run: str, model: str) -> Origin:
    logged = _LOGGED.fullmatch(source)
    if (logged and logged[1] != model) or source.startswith("runs:"):
        _refuse(source, "model_id")
    try:
        match = call.services.store.logged_models.get(call.workspace, model)
    except NotFound:
        _refuse(source, "model_id")
    location = logged_models.artifact_uri(call, match)
    if source.startswith("mlflow-artifacts:") and not _is_below(source, location):
        _refuse(source, "model_id")
    place = Place(None, f"{artifact_paths.MODELS}/{model}", "", model=model)
    origin = Origin(source, run or match.run or "", model, location)
    return _with_files(call, place, origin, root=match.name)


def _place_of_run(source: str, run: str) -> Place | None:
    """Return the files of a run that a source names; None for an address elsewhere."""
    match = _RUN.fullmatch(source)
    if match:
        if match[1] != run:
            _refuse(source, "run_id")
        return Place(run, "", (match[2] or "").strip("/"))
    if not source.startswith("mlflow-artifacts:"):
        return None
    try:
        place = artifact_paths.locate(urlsplit(source).path.lstrip("/"))
    except MlflowError:
        _refuse(source, "run_id")
    if not run or (place.run is not None and place.run != run):
        _refuse(source, "run_id")
    return place


def _with_files(call: Call, place: Place, origin: Origin, root: str = "") -> Origin:
    root = root or posixpath.basename(place.path) or "model"
    files = artifact_paths.files_below(call, place, root)
    return replace(origin, root=root if files else "", files=tuple(file for file in files if file.digest))


def _is_below(source: str, root: str) -> bool:
    path, top = urlsplit(source).path.rstrip("/"), urlsplit(root).path.rstrip("/")
    return path == top or path.startswith(f"{top}/")


def _refuse(source: str, field: str) -> NoReturn:
    raise MlflowError(
        f"Invalid model version source: '{source}'. The {field} request parameter must identify the resource that "
        "contains the source."
    )


def note_version(call: Call, model: str, name: str, version: int) -> None:
    """Add a version to the tag of its logged model that lists them."""

    def change(logged: LoggedModel) -> LoggedModel:
        versions = json.loads(logged.tags.get(_VERSIONS, "[]"))
        new = {"name": name, "version": str(version)}
        listed = versions if new in versions else [*versions, new]
        return replace(logged, tags={**logged.tags, _VERSIONS: json.dumps(listed)})

    call.services.store.logged_models.change(call.workspace, model, change)
