"""The origin of a source directory, as git knows it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Dict, List, NamedTuple, Optional

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
