"""Paths of artifacts behind `mlflow-artifacts:/`: which files of which run or model they name.

<experiment>/<run>/artifacts/<path>
<experiment>/models/<model id>/artifacts/<path>             a logged model
registered-models/<name>/<version>/artifacts/<path>         a version that was not registered by MLflow
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple
from urllib.parse import unquote

from footplate.domain.records import FileView
from footplate.errors import NotFound
from footplate.server.mlflow import logged_models
from footplate.server.mlflow.call import Call, Json
from footplate.server.mlflow.errors import MlflowError, missing

MODELS = "mlflow-models"
"""The folder among the files of a run that keeps its logged models, each in a folder named by its id."""

_MODEL = re.compile(r"(?:.*?/)?models/(m-[0-9a-f]{32})/artifacts(?:/(.*))?", re.DOTALL)
_VERSION = re.compile(r"registered-models/([^/]+)/(\d+)/artifacts(?:/(.*))?", re.DOTALL)
_RUN = re.compile(r"(?:.*?/)?([^/]+)/artifacts(?:/(.*))?", re.DOTALL)


class Place(NamedTuple):
    """A path among the files of a run, a logged model or a registered version; empty for all of them.

    `folder` is where the run keeps them: the path continues from there.
    """

    run: str | None
    folder: str
    path: str
    model: str | None = None
    version: tuple[str, int] | None = None


def locate(path: str) -> Place:
    """Return what a path names; raise for one that leaves its folder, or names nothing of ours."""
    path = safe_path(path)
    if match := _VERSION.fullmatch(path):
        return Place(None, "", (match[3] or "").strip("/"), version=(match[1], int(match[2])))
    if match := _MODEL.fullmatch(path):
        return Place(None, f"{MODELS}/{match[1]}", (match[2] or "").strip("/"), model=match[1])
    if match := _RUN.fullmatch(path):
        return Place(match[1], "", (match[2] or "").strip("/"))
    raise missing(f"'{path}' is not a path of artifacts of this workspace")


def safe_path(path: str) -> str:
    """Return a path without a way out of its folder, also not an encoded one."""
    decoded = path
    while (once := unquote(decoded)) != decoded:
        decoded = once
    parts = decoded.replace("\\", "/").split("/")
    if ".." in parts or decoded.startswith("/") or "\0" in decoded or re.match(r"[A-Za-z]:", decoded):
        raise MlflowError("Invalid path")
    return posixpath.normpath(path) if path else ""


def files_at(call: Call, place: Place) -> list[FileView]:
    """Return the files at a place and below, by their paths from the root of the run or model."""
    if place.version is not None:
        return _files_of_version(call, place)
    run = owner(call, place)
    if run is None:
        return []
    inside = posixpath.join(place.folder, place.path) if place.path else place.folder
    match = call.services.files.list(run, inside)
    start = len(place.folder) + 1 if place.folder else 0
    below = [_moved(file, file.path[start:]) for file in match if _is_at(file.path, inside)]
    return below if place.folder else [file for file in below if not file.path.startswith(f"{MODELS}/")]


def _files_of_version(call: Call, place: Place) -> list[FileView]:
    assert place.version is not None
    try:
        view = call.services.store.models.get(call.workspace, *place.version)
    except NotFound:
        raise missing(f"Model Version (name={place.version[0]}, version={place.version[1]}) not found") from None
    is_file = [file.path for file in view.files] == [view.root]
    named = [_moved(file, file.path if is_file else file.path[len(view.root) + 1 :]) for file in view.files]
    return [file for file in named if _is_at(file.path, place.path)]


def owner(call: Call, place: Place) -> str | None:
    """Return the run that keeps the files of a place; None for a model that has none."""
    if place.model is not None:
        return logged_models.find(call, place.model).host
    assert place.run is not None
    call.check_run(place.run, active=False)
    return place.run


def file_at(call: Call, place: Place) -> tuple[str, FileView]:
    """Return the run and the file that a path names exactly."""
    exact = [file for file in files_at(call, place) if file.path == place.path]
    if not exact:
        raise missing(f"No such artifact: '{place.path}'")
    if place.version is not None:
        return "", exact[0]
    run = owner(call, place) or ""
    return run, _moved(exact[0], posixpath.join(place.folder, place.path))


def listing(call: Call, place: Place, prefix: str = "") -> list[Json]:
    """Return the files and folders directly in a folder, with `prefix` before their names; nothing for a file."""
    entries: dict[str, Json] = {}
    start = len(place.path) + 1 if place.path else 0
    for file in files_at(call, place):
        if file.path == place.path:
            return []
        name, slash, _ = file.path[start:].partition("/")
        path = posixpath.join(prefix, name)
        entry: Json = {"path": path, "is_dir": bool(slash)}
        entries[name] = entry if slash else {**entry, "file_size": file.size}
    return [entries[name] for name in sorted(entries)]


def files_below(call: Call, place: Place, root: str) -> tuple[FileView, ...]:
    """Return the files of a folder as those of a model whose root has that name."""
    match = files_at(call, place)
    if [file.path for file in match] == [place.path]:
        return (_moved(match[0], root),)
    start = len(place.path) + 1 if place.path else 0
    return tuple(_moved(file, f"{root}/{file.path[start:]}") for file in match)


def _moved(file: FileView, path: str) -> FileView:
    return FileView(path, file.size, file.digest, file.modified)


def _is_at(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")
