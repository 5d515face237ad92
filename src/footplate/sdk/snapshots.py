"""The source folder of a run: taken into the store, with where it stood in git, and given back as a zip."""

from __future__ import annotations

import os
import tempfile
import threading
from dataclasses import dataclass
from typing import BinaryIO, Dict, List, Optional, cast

from footplate.client import home_folder
from footplate.content import git, tree
from footplate.content.statcache import StatCache
from footplate.content.tree import Tree
from footplate.sdk import blobs, files
from footplate.sdk.exceptions import AuthenticationException, Kinds, SnapshotException
from footplate.sdk.session import Session, translating

DIFF = "system_logs/uncommitted.diff"
_KINDS: Kinds = {"error": SnapshotException, "invalid": SnapshotException, "not_allowed": AuthenticationException}
_MLFLOW = {"repository_uri": "repoURL", "branch": "branch", "commit": "commit"}
_IN_MEMORY = 8 * 1024 * 1024


@dataclass(frozen=True)
class Taken:
    """`properties` are those that Azure sets by itself; `diff` is what was not committed, empty when nothing was."""

    id: str
    properties: Dict[str, str]
    diff: bytes


def take(session: Session, folder: str) -> Taken:
    """Bring the folder to the store; unchanged files are not read again. Git is asked meanwhile."""
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
    """What was not committed becomes a file of the run."""
    if diff:
        files.upload_bytes(session, run_id, DIFF, diff)


def restore(session: Session, snapshot: str, path: Optional[str]) -> str:
    """Write the snapshot as a zip to `path`, or into it when it is a folder."""
    target = path or "."
    if os.path.isdir(target) or not target.endswith(".zip"):
        os.makedirs(target, exist_ok=True)
        target = os.path.join(target, f"{snapshot}.zip")
    with translating(_KINDS):
        with _open_blob(session, snapshot) as manifest:
            content = manifest.read()
        tree.zip_to(content, lambda digest: _open_blob(session, digest), target)
    return os.path.abspath(target)


def _store(session: Session, folder: str) -> str:
    cache = StatCache.for_folder(os.path.join(home_folder(), "cache", "stat"), folder)
    scanned = tree.scan(folder, cache=cache)
    store = session.blobs
    if store is not None:
        return tree.store(scanned, store)
    _send(session, scanned)
    return scanned.digest


def _send(session: Session, scanned: Tree) -> None:
    """To a server on another machine. The manifest goes last, so one that is there vouches for all that it names."""
    tree.hash_unknown(scanned)
    manifest = scanned.manifest()
    if session.post("/blobs/missing", {"digests": [scanned.digest]})["missing"]:
        paths = {entry.content: scanned.path(entry) for entry in scanned.entries if entry.type == tree.FILE}
        blobs.send_missing(session, {digest: blobs.opener(path) for digest, path in paths.items()})
        session.send(f"/blobs/{scanned.digest}", manifest)
    scanned.remember()


def _open_blob(session: Session, digest: str) -> BinaryIO:
    store = session.blobs
    if store is not None:
        return store.open(digest)
    held = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # whoever asked closes it
    for piece in session.stream(f"/blobs/{digest}"):
        held.write(piece)
    held.seek(0)
    return cast("BinaryIO", held)
