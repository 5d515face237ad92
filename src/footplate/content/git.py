"""Where the source came from, as git knows it."""

from __future__ import annotations

import os
import re
import subprocess
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


class Provenance(NamedTuple):
    """`facts`: repository_uri, branch, commit, dirty ("True" or "False"), …; `diff`: what is not committed, as a patch."""

    facts: Dict[str, str]
    diff: bytes


def provenance(folder: str) -> Provenance:
    """Two git calls at the same time, a third one only when something is not committed; none outside a repository."""
    facts: Dict[str, str] = {}
    diff = b""
    if _inside_repository(folder):
        status = _start(folder, ["status", "--porcelain=v2", "--branch", "--untracked-files=no"])
        remote = _start(folder, ["config", "--get", "remote.origin.url"])
        facts = _facts(_result(status), _result(remote))
        if facts.get("dirty") == "True":
            diff = _result(_start(folder, ["diff", "HEAD", "--binary", "--no-ext-diff", "--no-color"])) or b""
    for variable, name in _OVERRIDES.items():
        if os.environ.get(variable):
            facts[name] = os.environ[variable]
    return Provenance(facts, diff)


def _inside_repository(folder: str) -> bool:
    """Looked up by hand: outside of repositories this costs no process."""
    here = os.path.realpath(folder)
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return True
        above = os.path.dirname(here)
        if above == here:
            return False
        here = above


def _start(folder: str, arguments: List[str]) -> Optional[subprocess.Popen[bytes]]:
    variables = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.Popen(
            ["git", "-C", folder, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        )
    except OSError:  # no git on this machine
        return None


def _result(process: Optional[subprocess.Popen[bytes]]) -> Optional[bytes]:
    if process is None:
        return None
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
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
        facts["repository_uri"] = _without_credentials(remote.decode("utf-8", "replace").strip())
    return facts


def _without_credentials(url: str) -> str:
    return re.sub(r"^([a-z][a-z0-9+.\-]*://)[^/@]*@", r"\1", url)
