"""The origin of a source directory, as git knows it, and the files that it watches.

A scan asks git which files differ from its index, instead of calling stat on each of them. Git compares the files of a
work tree with its index many times faster than Python could. As long as the index is the one that we learnt from, a
file that git reports as unchanged is as it was when we last saw it, provided that

- it matched the index at that time, and
- it had not been changed for a while: git may compare only the seconds of a file's times, so it could miss a change
  within the same second. Every later change falls into a later second. Setting the modification time back does not
  hide a change, because the inode's change time cannot be set.

Clean filters and line endings do not matter: `diff-files` compares times, sizes and inodes, and can only add files
whose content differs. Files marked "assume unchanged" or "skip worktree" are not watched. When anything is unexpected
(no git, another index, no answer), nothing is watched, and the scan looks at every file.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from footplate.content.stat_cache import NOBODY, Seen, WatchedFolder

_SECONDS = 10.0
_OVERRIDES = {
    "AZUREML_GIT_REPOSITORY_URI": "repository_uri",
    "AZUREML_GIT_BRANCH": "branch",
    "AZUREML_GIT_COMMIT": "commit",
    "AZUREML_GIT_DIRTY": "dirty",
    "AZUREML_GIT_BUILD_ID": "build_id",
    "AZUREML_GIT_BUILD_URI": "build_uri",
}
_NOT_CODE = (b"outputs/", b"logs/", b".azureml/", b"aml_config/")
# Set while git runs a hook. They describe the hook's repository, which may not be that of the directory.
_NOT_OURS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


class Provenance(NamedTuple):
    """`facts` that are known: repository_uri, branch, commit, dirty ("True" or "False"), build_id, build_uri.

    Untracked files in the directory make it dirty, too. `diff` holds uncommitted changes to tracked files, as a patch
    for `git apply`.
    """

    facts: Dict[str, str]
    diff: bytes


def provenance(folder: str) -> Provenance:
    """Return the provenance of a directory.

    This costs three git calls at the same time, a fourth one only with uncommitted changes, and none outside a
    repository. Facts that git does not report within ten seconds are left out. AZUREML_GIT_* variables override git.
    """
    facts, diff = _ask(folder) if dot_git(folder) else ({}, b"")
    facts.update({fact: os.environ[name] for name, fact in _OVERRIDES.items() if os.environ.get(name)})
    return Provenance(facts, diff)


def _ask(folder: str) -> Provenance:
    deadline = time.monotonic() + _SECONDS
    status = start_git(folder, ["status", "--porcelain=v2", "--branch", "--untracked-files=no"])
    remote = start_git(folder, ["config", "--get", "remote.origin.url"])
    others = start_git(
        folder, ["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"]
    )
    facts = _facts(git_output(status, deadline), git_output(remote, deadline))
    untracked = _is_code(git_output(others, deadline))
    if facts.get("dirty") != "True" or "commit" not in facts:
        if facts and untracked:
            facts["dirty"] = "True"
        return Provenance(facts, b"")
    patch = start_git(folder, ["diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--no-color"])
    return Provenance(facts, git_output(patch, deadline) or b"")


def _is_code(untracked: Optional[bytes]) -> bool:
    """Whether any of these files may be code, and not only results of a run or Footplate's own configuration."""
    return any(name and not name.startswith(_NOT_CODE) for name in (untracked or b"").split(b"\0"))


def dot_git(folder: str) -> Optional[str]:
    """Return the `.git` that git will find. Looking for it by hand saves a process outside of repositories."""
    here = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return os.path.join(here, ".git")


def start_git(folder: str, arguments: List[str]) -> Optional[subprocess.Popen[bytes]]:
    """Start git with a question; return None when git is not installed."""
    variables = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
    variables.update(GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0", LC_ALL="C")
    try:
        return subprocess.Popen(
            ["git", "-C", folder, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        )
    except OSError:
        return None


def git_output(process: Optional[subprocess.Popen[bytes]], deadline: float) -> Optional[bytes]:
    """Return the answer; None when git failed or did not answer in time."""
    if process is None:
        return None
    with process:
        try:
            output, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return output if process.returncode == 0 else None


def _facts(status: Optional[bytes], remote: Optional[bytes]) -> Dict[str, str]:
    if status is None:
        return {}
    lines = status.decode("utf-8", "replace").splitlines()
    heads = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
    facts = {"dirty": str(any(not line.startswith("#") for line in lines))}
    if heads.get("branch.oid", "(initial)") != "(initial)":
        facts["commit"] = heads["branch.oid"]
    if heads.get("branch.head", "(detached)") != "(detached)":
        facts["branch"] = heads["branch.head"]
    if remote:
        facts["repository_uri"] = without_credentials(remote.decode("utf-8", "replace").strip())
    return facts


def without_credentials(url: str) -> str:
    """Return the URL without user name and password. For ssh a user name alone stays: it is part of the address."""
    match = re.match(r"([a-z][a-z0-9+.\-]*)://([^/]*)@", url, re.IGNORECASE)
    if not match:
        return url
    user = match[2].split(":", 1)[0]
    login = f"{user}@" if "ssh" in match[1].lower() else ""
    return f"{match[1]}://{login}{url[match.end() :]}"


LARGE = 500
"""With fewer files, calling stat on all of them takes less time than starting git."""

SETTLED_NS = 2_000_000_000
"""A file that changed more recently is not left to git."""

Key = Tuple[str, bytes, Tuple[Optional[Tuple[int, int, int]], ...]]
"""The identity of an index: its repository, its checksum, and the stat data of the configuration beside it."""

_INDEX_SECONDS = 10.0
_CHECKSUM_BYTES = 20
_CONFIGURATIONS = ("config", "config.worktree")
# Compare all stat data, whatever the repository's settings are, and read the marks of the index as they are stored.
_SETTINGS = (
    "core.checkStat=default",
    "core.trustctime=true",
    "core.fsmonitor=false",
    "core.sparseCheckout=false",
)
_CHANGED = ("diff-files", "-z", "--name-only", "--relative", "--no-renames", "--ignore-submodules=all")
_IN_INDEX = ("ls-files", "-z", "-v", "--stage")
_REGULAR = (b"100644", b"100755")


class GitIndex:
    """Git as the watcher of one directory during one scan. It starts comparing at once."""

    def __init__(self, folder: str, remembered: Optional[Key]) -> None:
        self._folder = folder
        self._deadline = time.monotonic() + _INDEX_SECONDS
        self._index = index_of(folder)
        self.is_known = self._index is not None and self._index == remembered
        self._question = _run_git(folder, _CHANGED) if self.is_known else None

    def __enter__(self) -> GitIndex:
        return self

    def __exit__(self, *_: object) -> None:
        if self._question is not None:
            self._question.kill()
            self._question.communicate()

    def to_look_at(self, others: Dict[str, List[str]]) -> Optional[Dict[str, Set[str]]]:
        """Return, by directory, the names of files that git does not vouch for; None when it vouches for none."""
        changed = _paths(git_output(self._question, self._deadline))
        self._question = None
        return None if changed is None else _by_folder(changed, others)

    def learn(self, seen: Seen, began_ns: int) -> WatchedFolder:
        """Return the files that git watches now. `seen` is the scan that began at `began_ns`, with the same index."""
        files = sum(map(len, seen.values()))
        if self._index is None or files < LARGE:
            return NOBODY
        self._deadline = time.monotonic() + _INDEX_SECONDS
        asked_at_once = _run_git(self._folder, _CHANGED), _run_git(self._folder, _IN_INDEX)
        changed, tracked = (git_output(process, self._deadline) for process in asked_at_once)
        if changed is None or tracked is None or index_of(self._folder) != self._index:
            return NOBODY
        return self._watch(seen, _regular(tracked) - (_paths(changed) or set()), began_ns, files)

    def _watch(self, seen: Seen, watched: Set[str], began_ns: int, files: int) -> WatchedFolder:
        others: Dict[str, List[str]] = {}
        young = 0
        for folder, names in seen.items():
            for name, what in names.items():
                if folder + name in watched and isinstance(what, tuple):
                    if max(what[2], what[3]) + SETTLED_NS < began_ns:
                        continue
                    young += 1
                others.setdefault(folder, []).append(name)
        # They will be old enough next time. For a few of them it is not worth asking git again.
        return WatchedFolder(None if young * 8 > files else self._index, others)


def index_of(folder: str) -> Optional[Key]:
    """Return the index that holds the directory's files; None when there is none, or when it has no checksum."""
    place = dot_git(folder)
    if place is None:
        return None
    try:
        repository = _repository(place)
        checksum = _checksum(os.path.join(repository, "index"))
    except (OSError, ValueError):
        return None
    marks = tuple(_mark(os.path.join(repository, name)) for name in _CONFIGURATIONS)
    return (repository, checksum, marks) if any(checksum) else None  # all zero: index.skipHash


def _paths(output: Optional[bytes]) -> Optional[Set[str]]:
    return None if output is None else set(os.fsdecode(output).split("\0")[:-1])


def _regular(output: bytes) -> Set[str]:
    """Return the regular files that git compares with its index, from the output of `ls-files`."""
    paths: List[bytes] = []
    for line in output.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mark, mode, _, stage = facts.split(b" ")
        if mark == b"H" and mode in _REGULAR and stage == b"0":
            paths.append(path)
    return set(map(os.fsdecode, paths))


def _by_folder(paths: Iterable[str], others: Dict[str, List[str]]) -> Dict[str, Set[str]]:
    names = {folder: set(some) for folder, some in others.items()}
    for path in paths:
        at = path.rfind("/") + 1
        names.setdefault(path[:at], set()).add(path[at:])
    return names


def _run_git(folder: str, command: Sequence[str]) -> Optional[subprocess.Popen[bytes]]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return start_git(folder, [*settings, *command])


def _repository(place: str) -> str:
    """Return the directory of the repository: `.git` itself, or the directory that the file `.git` names."""
    if os.path.isdir(place):
        return place
    with open(place, "rb") as file:
        content = file.read(5000)
    if not content.startswith(b"gitdir: "):
        raise ValueError(place)
    return os.path.join(os.path.dirname(place), os.fsdecode(content[len(b"gitdir: ") :].rstrip(b"\r\n")))


def _checksum(index: str) -> bytes:
    with open(index, "rb") as file:
        file.seek(-_CHECKSUM_BYTES, os.SEEK_END)
        return file.read(_CHECKSUM_BYTES)


def _mark(path: str) -> Optional[Tuple[int, int, int]]:
    with contextlib.suppress(OSError):
        info = os.stat(path)
        return info.st_mtime_ns, info.st_ctime_ns, info.st_ino
    return None
