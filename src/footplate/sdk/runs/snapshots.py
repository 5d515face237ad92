"""Snapshots of the source folder: taken with the state of its git repository, restored as a zip."""

from __future__ import annotations

import io
import os
import threading
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence

from footplate.client import home_folder
from footplate.content import git, source_tree
from footplate.content.manifest import FILE, parse_manifest
from footplate.content.restore import materialize, zip_to
from footplate.content.stat_cache import StatCache
from footplate.domain.text import size as readable_size
from footplate.sdk import blob_transfer
from footplate.sdk.exceptions import AuthenticationException, Kinds, SnapshotException
from footplate.sdk.runs import files
from footplate.sdk.session import Session, translating
from footplate.sdk.values.warn import warn_caller

DIFF = "system_logs/uncommitted.diff"
LARGE = 300_000_000
"""The size in bytes from which a snapshot is worth a warning: Azure ML refused larger ones."""

_MOST_NAMED = 3
_LEAVE_OUT = "to leave files out, list them in .amlignore (or in .gitignore, if there is no .amlignore)"
_KINDS: Kinds = {"error": SnapshotException, "invalid": SnapshotException, "not_allowed": AuthenticationException}
_MLFLOW = {"repository_uri": "repoURL", "branch": "branch", "commit": "commit"}


@dataclass(frozen=True)
class Taken:
    """A stored snapshot. `properties` are the git properties that Azure sets; `diff` holds uncommitted changes."""

    id: str
    properties: Dict[str, str]
    diff: bytes


def take(session: Session, folder: str, kept_folders: Sequence[str] = ()) -> Taken:
    """Store the folder and read git's state meanwhile. Unchanged files are not read again.

    `kept` are the directories whose files the run will keep: a notice counts those that are there already.
    """
    if "\0" in folder:
        raise SnapshotException(f"the folder is {folder!r}", hint="remove the NUL character")
    provenances: List[git.Provenance] = []
    asking = threading.Thread(target=lambda: provenances.append(git.provenance(folder)), daemon=True)
    asking.start()
    with translating(_KINDS):
        digest = _store(session, folder, kept_folders)
    asking.join()
    facts, diff = provenances[0] if provenances else git.Provenance({}, b"")
    properties = {f"azureml.git.{name}": value for name, value in facts.items()}
    properties.update({f"mlflow.source.git.{_MLFLOW[n]}": value for n, value in facts.items() if n in _MLFLOW})
    return Taken(digest, {"ContentSnapshotId": digest, **properties}, diff)


def keep_diff(session: Session, run_id: str, diff: bytes) -> None:
    """Store uncommitted changes as a file of the run."""
    if diff:
        files.upload(session, run_id, [(DIFF, io.BytesIO(diff))])


def restore(session: Session, snapshot: str, path: Optional[str]) -> str:
    """Write the snapshot as a zip to `path`, or into it if it is a folder."""
    target = os.fspath(path or ".")
    if os.path.isdir(target) or not target.endswith(".zip"):
        os.makedirs(target, exist_ok=True)
        target = os.path.join(target, f"{snapshot}.zip")
    with translating(_KINDS):
        store = blob_transfer.store_of(session)
        with store.open(snapshot) as manifest:
            content = manifest.read()
        zip_to(content, store.open, target)
    return os.path.abspath(target)


def restore_folder(session: Session, snapshot: str, folder: str) -> int:
    """Write the files of a snapshot below a folder that is empty or does not exist, and return their number."""
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise SnapshotException(f"{folder!r} exists and is not an empty folder", hint="choose another one")

    def fetch(digest: str, path: str, executable: bool) -> None:
        blob_transfer.fetch(session, digest, path)
        if executable:
            os.chmod(path, os.stat(path).st_mode | 0o111)

    with translating(_KINDS):
        with blob_transfer.store_of(session).open(snapshot) as file:
            manifest = file.read()
        materialize(manifest, fetch, folder)
        return sum(entry.type == FILE for entry in parse_manifest(manifest))


def _store(session: Session, folder: str, kept_folders: Sequence[str]) -> str:
    home = home_folder()
    cache = StatCache.for_folder(os.path.join(home, "cache", "stat"), folder)
    tree = source_tree.scan(folder, cache=cache, home=home)
    for notice in [*tree.news, *notices(tree, kept_folders)]:
        warn_caller(notice)
    return source_tree.store(tree, blob_transfer.store_of(session))


def notices(tree: source_tree.SourceTree, kept_folders: Sequence[str]) -> List[str]:
    """Return sentences about early files in directories that the run will keep, and about a large snapshot."""
    notices: List[str] = []
    early = tree.sizes(kept_folders)
    if early:
        folders = " and ".join(f"{name}/" for name in kept_folders if tree.sizes([name]))
        words = f"the snapshot has {_amount(early)} in {folders}, which the run can read"
        notices.append(f"{words}; its outputs are the files that it writes; {_LEAVE_OUT}")
    sizes = {} if tree.is_known else tree.sizes()  # an unchanged folder was reported before
    if sum(sizes.values()) > LARGE:
        largest = sorted(sizes, key=lambda path: -sizes[path])[:_MOST_NAMED]
        # A file of less than a hundredth of the first one's size would not help.
        named = [path for path in largest if sizes[path] * 100 >= sizes[largest[0]]]
        words = ", ".join(f"{path} ({readable_size(sizes[path])})" for path in named)
        are = "are" if len(named) > 1 else "is"
        notices.append(f"the snapshot is large: {_amount(sizes)}; the largest {are} {words}; {_LEAVE_OUT}")
    return notices


def _amount(sizes: Dict[str, int]) -> str:
    return f"{len(sizes)} file{'' if len(sizes) == 1 else 's'} ({readable_size(sum(sizes.values()))})"
