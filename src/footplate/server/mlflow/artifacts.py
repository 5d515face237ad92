"""Handlers of artifacts: lists, and transfers of large files. `application` streams the bytes of single files."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from pathlib import Path

from footplate.domain.records import FileView
from footplate.domain.runs import tracking
from footplate.server.mlflow import artifact_paths, logged_models, views
from footplate.server.mlflow.artifact_paths import Place
from footplate.server.mlflow.call import Call, Json
from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.transfers import Transfers


def list_of_run(call: Call) -> Json:
    run = call.run(call.text("run_id"))
    path = artifact_paths.safe_path(call.text("path"))
    files = artifact_paths.listing(call, Place(run.id, "", path.strip("/")), path)
    return {"root_uri": views.artifact_uri(run), **({"files": files} if files else {})}


def list_of_model(call: Call) -> Json:
    model = logged_models.find(call, call.text("model_id"))
    path = artifact_paths.safe_path(call.text("artifact_directory_path"))
    place = Place(None, f"{artifact_paths.MODELS}/{model.id}", path.strip("/"), model=model.id)
    files = artifact_paths.listing(call, place, path)
    return {"root_uri": logged_models.artifact_uri(call, model), **({"files": files} if files else {})}


def list_proxied(call: Call) -> Json:
    return {"files": artifact_paths.listing(call, artifact_paths.locate(call.text("path")))}


def delete_proxied(call: Call) -> Json:
    """Remove files. Contents stay until nothing refers to them."""
    place = artifact_paths.locate(call.text("artifact_path"))
    if place.version is not None:
        raise MlflowError("the files of a registered version do not change", "PERMISSION_DENIED")
    run = artifact_paths.owner(call, place)
    if run is not None:
        inside = "/".join(part for part in (place.folder, place.path) if part)
        call.services.files.remove(run, inside)
    return {}


def store(call: Call, path: str, file: Path) -> None:
    """Keep a file that has arrived as an artifact. It may replace one of the same name."""
    place = artifact_paths.locate(path)
    if not place.path or place.version is not None:
        raise MlflowError(f"'{path}' cannot be written: name a file of a run or of a logged model")
    run = _writable_owner(call, place)
    digest, size = call.services.store.blobs.put_file(str(file), move=True)
    name = "/".join(part for part in (place.folder, place.path) if part)
    call.services.files.add(run, [FileView(name, size, digest)], automatic=False, overwrite=True)


def _writable_owner(call: Call, place: Place) -> str:
    """Return the run that keeps the files of a place. A model that no run has made gets one, which nobody sees."""
    run = artifact_paths.owner(call, place)
    if run is not None:
        return run
    model = logged_models.find(call, place.model or "")
    experiment = call.services.store.experiments.get(model.experiment)
    create = call.services.tracking.create
    host = create(experiment, model.name, call.author(), None, {}, type=tracking.MODEL_HOST)
    call.services.runs.report_status(host, "Completed")
    call.services.tracking.archive(host, True)
    changed = call.services.store.logged_models.change(
        call.workspace, model.id, lambda each: each if each.host else replace(each, host=host)
    )
    return changed.host or host


# ── Large files ───────────────────────────────────────────────────────────────────────────────────────────────────────


def begin_upload(call: Call, transfers: Transfers) -> Json:
    artifact_paths.locate(_uploaded_path(call))
    return transfers.begin(call.origin, int(call.fields.get("num_parts") or 1))


def complete_upload(call: Call, transfers: Transfers) -> Json:
    upload = call.text("upload_id")
    store(call, _uploaded_path(call), transfers.finish(upload, call.items("parts")))
    transfers.end(upload)
    return {}


def _uploaded_path(call: Call) -> str:
    """Return the path of the uploaded file: its folder is in the address, and its name in the body."""
    return posixpath.join(call.text("artifact_path"), posixpath.basename(call.text("path")))


def abort_upload(call: Call, transfers: Transfers) -> Json:
    transfers.end(call.text("upload_id"))
    return {}


def presign_download(call: Call, transfers: Transfers) -> Json:
    _, file = artifact_paths.file_at(call, artifact_paths.locate(call.text("artifact_path")))
    if file.digest is None:
        raise MlflowError("a log that may still grow has no address of its own", "NOT_IMPLEMENTED")
    return {"url": transfers.link(call.origin, digest=file.digest), "headers": {}, "file_size": file.size}
