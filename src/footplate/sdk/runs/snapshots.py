"""Snapshots of the source folder: taken with the state of its git repository, restored as a zip."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Dict, List, Optional

from footplate.client import home_folder
from footplate.content import git, source_tree
from footplate.content.stat_cache import StatCache
from footplate.sdk import blob_transfer
from footplate.sdk.exceptions import AuthenticationException, Kinds, SnapshotException
from footplate.sdk.runs import files
from footplate.sdk.session import Session, translating
from footplate.sdk.warn import warn_caller

DIFF = "system_logs/uncommitted.diff"
_KINDS: Kinds = {"error": SnapshotException, "invalid": SnapshotException, "not_allowed": AuthenticationException}
_MLFLOW = {"repository_uri": "repoURL", "branch": "branch", "commit": "commit"}


@dataclass(frozen=True)
class Taken:
    """A stored snapshot. `properties` are the git properties that Azure sets; `diff` holds uncommitted changes."""

    id: str
    properties: Dict[str, str]
    diff: bytes


def take(session: Session, folder: str) -> Taken:
    """Store the folder and read git's state meanwhile. Unchanged files are not read again."""
    asked: List[git.Provenance] = []
    asking = threading.Thread(target=lambda: asked.append(git.provenance(folder)), daemon=True)
    asking.start()
    with translating(_KINDS):
        digest = _store(session, folder)
    asking.join()
    facts, diff = asked[0] if asked else git.Provenance({}, b"")
    properties = {f"azureml.git.{name}": value for name, value in facts.items()}
    properties.update({f"mlflow.source.git.{_MLFLOW[n]}": value for n, value in facts.items() if n in _MLFLOW})
    return Taken(digest, {"ContentSnapshotId": digest, **properties}, diff)


def keep_diff(session: Session, run_id: str, diff: bytes) -> None:
    """Store uncommitted changes as a file of the run."""
    if diff:
        files.upload_bytes(session, run_id, DIFF, diff)


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
        source_tree.zip_to(content, store.open, target)
    return os.path.abspath(target)


def _store(session: Session, folder: str) -> str:
    home = home_folder()
    cache = StatCache.for_folder(os.path.join(home, "cache", "stat"), folder)
    tree = source_tree.scan(folder, cache=cache, home=home)
    for notice in tree.news:
        warn_caller(notice)
    return source_tree.store(tree, blob_transfer.store_of(session))
