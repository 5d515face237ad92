"""Files of a run: artifacts (blobs with a name) and logs. Names are `/`-separated paths inside the run."""

from __future__ import annotations

import io
import os
import posixpath
import time
import uuid
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, cast

from footplate.domain.records import FileView
from footplate.sdk import blob_transfer
from footplate.sdk.display.status_line import transferring
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.local_files import data_below
from footplate.sdk.runs.details import LOG_FOLDERS
from footplate.sdk.runs.metrics import artifact_uri
from footplate.sdk.session import Session

_IMAGE_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF", b"\0\0\1\0")
_SHOWN = 30
_drawn: Set[str] = set()


class Tracked(NamedTuple):
    """A folder whose files are uploaded when the run ends. The path is absolute: scripts change directory."""

    path: str
    prefix: str


class Artifact:
    """A metric that is a file of the run."""

    def __init__(self, session: Session, run_id: str, path: str) -> None:
        self._session = session
        self.run_id = run_id
        self.path = path

    def read(self) -> bytes:
        return b"".join(self._session.api.files.read(self.run_id, self.path))

    def __repr__(self) -> str:
        return f"Artifact({artifact_uri(self.run_id, self.path)})"


def clean_name(name: str) -> str:
    """Normalize a name: `./outputs//x` becomes `outputs/x`. Raise an error if it leads out of the run."""
    path = posixpath.normpath(str(name).replace(os.sep, "/"))
    if path in (".", "..") or path.startswith(("/", "../")):
        raise UserErrorException(
            f"{name!r} is not the name of a file in a run", hint="use a name such as outputs/x.pkl"
        )
    return path


# ── up ──


def upload(
    session: Session,
    run_id: str,
    sources: Sequence[Tuple[str, blob_transfer.Source]],
    automatic: bool = False,
    overwrite: bool = False,
) -> None:
    """Upload files. An existing name is an error, replaced with `overwrite`, or skipped if `automatic`."""
    if not sources:
        return
    stored = blob_transfer.put(session, [(clean_name(name), source) for name, source in sources])
    session.api.files.add(run_id, stored, automatic=automatic, overwrite=overwrite, key=uuid.uuid4().hex)


def upload_folder(session: Session, run_id: str, name: str, path: str) -> None:
    if not os.path.isdir(path):
        raise UserErrorException(f"{path!r} is not a folder", hint="upload a single file with upload_file")
    upload(session, run_id, [(posixpath.join(name, below), file) for file, below in data_below(path)])


def track(folder: str) -> Tracked:
    prefix = os.path.basename(folder.rstrip("/")) if os.path.isabs(folder) else os.path.normpath(folder)
    return Tracked(os.path.abspath(folder), prefix)


def upload_tracked(session: Session, run_id: str, outputs: Tracked) -> None:
    """Upload the tracked outputs of a run. A file that the user uploaded under the same name is kept."""
    if os.path.isdir(outputs.path):
        sources = [(f"{outputs.prefix}/{below}", file) for file, below in data_below(outputs.path)]
        upload(session, run_id, sources, automatic=True)


def image(name: str, path: Optional[str], plot: Any) -> Tuple[str, blob_transfer.Source]:
    """Return the file name and the content of a logged image."""
    if path is not None:
        path = os.fspath(path)
        _check_image(path)
        return _name_inside(path), path
    if not hasattr(plot, "savefig"):
        raise AzureMLException(f"plot {plot!r} has no savefig", hint="pass a matplotlib figure or pyplot itself")
    picture = io.BytesIO()
    plot.savefig(picture, format="png")
    picture.seek(0)
    return _new_name(f"{name}_{int(time.time())}"), picture


def _name_inside(path: str) -> str:
    """Return the path as a name inside the run, without leading `../` and `/`."""
    name = posixpath.normpath(path.replace(os.sep, "/"))
    while name.startswith("../"):
        name = name[len("../") :]
    return name.lstrip("/")


def _new_name(stem: str) -> str:
    """Return a file name that this process has not used: two images in the same second are two files."""
    name = f"{stem}.png"
    count = 1
    while name in _drawn:
        count += 1
        name = f"{stem}_{count}.png"
    _drawn.add(name)
    return name


def _check_image(path: str) -> None:
    try:
        with open(os.fspath(path), "rb") as file:
            beginning = file.read(16)
    except OSError as error:
        raise AzureMLException(
            f"image {path!r} cannot be read: {error.strerror}", error, hint="give the path of a file"
        ) from error
    if not beginning.startswith(_IMAGE_BEGINNINGS) and not path.lower().endswith(".svg"):
        raise AzureMLException(f"{path!r} is not an image", hint="use a PNG, JPEG, GIF, BMP, TIFF, WebP or SVG file")


# ── down ──


def listing(session: Session, run_id: str, prefix: Optional[str] = None) -> List[FileView]:
    return list(session.api.files.list(run_id, prefix or ""))


def names(session: Session, run_id: str) -> List[str]:
    return [file.path for file in listing(session, run_id)]


def download(session: Session, run_id: str, name: str, target: Optional[str]) -> None:
    """Download a file to `target`, or into it if it is a folder; by default into the current directory."""
    path = clean_name(name)
    matching = [file for file in listing(session, run_id, path) if file.path == path]
    if not matching:
        raise _not_there(session, run_id, f"file {name!r}")
    base = posixpath.basename(path)
    place = base if target is None else os.fspath(target)
    if target is not None and (os.path.isdir(place) or place.endswith(("/", os.sep))):
        place = os.path.join(place, base)
    _fetch(session, run_id, [(matching[0], place)])


def download_many(
    session: Session,
    run_id: str,
    prefix: Optional[str],
    folder: Optional[str],
    paths: Optional[Sequence[str]],
    append_prefix: bool,
) -> None:
    views, above = _with_prefix(session, run_id, prefix)
    if paths is not None:
        if len(paths) != len(views):
            raise UserErrorException(
                f"{len(paths)} output_paths were given for {len(views)} files", hint="pass one path for each file"
            )
        targets = list(paths)
    else:
        keep = append_prefix or folder is None
        targets = [file.path if keep else file.path[len(above) :].lstrip("/") for file in views]
    _fetch(session, run_id, [(file, os.path.join(folder or ".", target)) for file, target in zip(views, targets)])


def download_logs(session: Session, run_id: str, folder: str) -> List[str]:
    logs = [file for file in listing(session, run_id) if file.path.startswith(LOG_FOLDERS)]
    targets = [(file, os.path.join(folder, file.path)) for file in logs]
    _fetch(session, run_id, targets)
    return [path for _, path in targets]


def populate(session: Session, run_id: str, values: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the metrics with `Artifact` objects instead of artifact URIs."""
    start = artifact_uri(run_id, "")

    def swap(value: Any) -> Any:
        is_address = isinstance(value, str) and value.startswith(start)
        return Artifact(session, run_id, value[len(start) :]) if is_address else value

    return {
        name: [swap(each) for each in cast("List[Any]", value)] if isinstance(value, list) else swap(value)
        for name, value in values.items()
    }


def _with_prefix(session: Session, run_id: str, prefix: Optional[str]) -> Tuple[List[FileView], str]:
    """Return the files below a folder, or else those whose names start with `prefix`, and their common parent."""
    if not prefix:
        return listing(session, run_id), ""
    path = clean_name(prefix)
    matching = listing(session, run_id, path)
    if not matching:
        raise _not_there(session, run_id, f"file that starts with {prefix!r}")
    below = [file for file in matching if file.path.startswith(path + "/")]
    return (below, path) if below else (matching, posixpath.dirname(path))


def _not_there(session: Session, run_id: str, what: str) -> UserErrorException:
    have = names(session, run_id)
    more = f", and {len(have) - _SHOWN} more" if len(have) > _SHOWN else ""
    listed = f"{', '.join(have[:_SHOWN]) or 'no files yet'}{more}"
    hint = "files in ./outputs are uploaded when the run ends; list them with run.get_file_names()"
    return UserErrorException(f"run {run_id} has no {what}; it has: {listed}", hint=hint)


def _fetch(session: Session, run_id: str, downloads: Sequence[Tuple[FileView, str]]) -> None:
    """Download files to paths on this machine."""
    what = downloads[0][0].path if len(downloads) == 1 else f"{len(downloads)} files"
    with transferring(f"downloading {what}", sum(file.size for file, _ in downloads)) as passing:
        for file, target in downloads:
            fetch_file(session, run_id, file, target, passing)


def fetch_file(
    session: Session, run_id: str, file: FileView, target: str, passing: blob_transfer.Passing = iter
) -> None:
    """Write an artifact or a log to a path on this machine. Its pieces go through `passing`."""
    if file.digest is not None:
        blob_transfer.fetch(session, file.digest, target, passing)
    else:
        blob_transfer.write_pieces(target, passing(session.api.files.read(run_id, file.path)))
