"""Build a conda prefix from a lock: link packages from one cache, add pip's packages, then record its activation."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from rattler import Client, RepoDataRecord, Subdir, install
from rattler.install import InstallerReporter
from rattler.shell import ActivationVariables, activate

from footplate.domain.orders import Lock
from footplate.environments import built_environments, venv
from footplate.environments.base import BuildContext, Interpreter, Say
from footplate.environments.conda import PACKAGES, package_records
from footplate.environments.conda.channel_logins import INSTALLING, config
from footplate.environments.url_credentials import Logins
from footplate.errors import Broken, InvalidInput, OutOfSpace, Unavailable

VARIABLES = ".footplate-variables.json"
_OF_THE_SHELL = ("PATH", "PWD", "OLDPWD", "SHLVL", "_")


def build(lock: Lock, root: Path, say: Say, logins: Logins) -> Interpreter:
    folder = built_environments.use(root, lock, say, logins, lambda place, context: _build(lock, place, context))
    variables = json.loads((folder / VARIABLES).read_text(encoding="utf-8"))
    return Interpreter((str(folder / "bin" / "python"),), {**venv.mpi_variables(folder), **variables})


def _build(lock: Lock, folder: Path, context: BuildContext) -> None:
    here = str(Subdir.current())
    if lock.content["platform"] != here:
        raise InvalidInput(
            f"the environment {lock.digest[:12]} was locked for {lock.content['platform']}, and this machine is {here}",
            "submit the run again, or run it on a machine of that platform",
        )
    packages = [package_records.restore(data) for data in lock.content["packages"]]
    context.say(f"building the environment {lock.digest[:12]} from {len(packages)} conda packages")
    _link(packages, folder, context)
    venv.add_requirements(lock, folder, context)
    variables = _activation(folder, context.say)
    (folder / VARIABLES).write_text(json.dumps(variables, sort_keys=True), encoding="utf-8")


# ── Linking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Reporter(InstallerReporter):
    """rattler's progress as lines of a build log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._names: dict[int, str] = {}
        self._scripts: list[str] = []
        self.failed: list[str] = []

    def on_populate_cache_start(self, operation: int, package_name: str) -> int:
        self._names[operation] = package_name
        return operation

    def on_download_start(self, cache_entry: int) -> int:
        self._say(f" ↓ {self._names.get(cache_entry, '')}")
        return cache_entry

    def on_link_start(self, operation: int, package_name: str) -> int:
        self._say(f" + {package_name}")
        return operation

    def on_post_link_start(self, package_name: str, script_path: str) -> int:
        self._say(f"   {script_path}")
        self._scripts.append(f"{script_path} of {package_name}")
        return len(self._scripts) - 1

    def on_post_link_complete(self, index: int, success: bool) -> None:
        if not success:
            self.failed.append(self._scripts[index])


def _link(packages: Sequence[RepoDataRecord], folder: Path, context: BuildContext) -> None:
    cache = context.root / PACKAGES
    cache.mkdir(parents=True, exist_ok=True)
    for record in packages:
        _check_local(record)
    reporter = _Reporter(context.say)
    try:
        with config(context.logins) as settings:
            asyncio.run(
                install(
                    list(packages), folder, cache_dir=cache, execute_link_scripts=True, show_progress=False,
                    client=Client.from_config(settings), config=settings, reporter=reporter,
                )
            )  # fmt: skip
    except INSTALLING as error:
        raise _explain(context.logins.conceal(str(error))) from None
    if reporter.failed:  # like conda: a package is only installed if its scripts succeed
        raise Broken(
            f"the link script of a conda package failed: {', '.join(reporter.failed)}",
            "something that it needs may be missing on this machine; request another version of the package",
        )


def _check_local(record: RepoDataRecord) -> None:
    """Check the hash of a package in a local channel: rattler only checks downloads."""
    parts = urllib.parse.urlsplit(record.url)
    if parts.scheme != "file" or record.sha256 is None:
        return
    path = urllib.request.url2pathname(parts.path)
    try:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}", "make the channel's directory reachable"
        ) from None
    if digest != record.sha256:
        raise _explain(f"{path} (hash mismatch)")


def _explain(words: str) -> Broken | OutOfSpace | Unavailable:
    if "No space left on device" in words or "os error 28" in words:
        return OutOfSpace(
            "the conda packages cannot be installed: the disk is full", "free some space and submit again"
        )
    if "hash mismatch" in words.lower():
        return Broken(
            f"a conda package is not the file that was locked: {words}",
            "the channel has replaced it; lock again with: footplate env lock FILE --refresh",
        )
    return Unavailable(f"the conda packages cannot be installed: {words}", "see the build log of the run")


# ── Activating ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _activation(folder: Path, say: Say) -> dict[str, str]:
    """Return the variables that activating this prefix sets, found once by activating it in an empty shell."""
    plain = {"CONDA_PREFIX": str(folder), "CONDA_DEFAULT_ENV": str(folder), "CONDA_SHLVL": "1"}
    scripts = sorted((folder / "etc" / "conda" / "activate.d").glob("*.sh"))
    bash = shutil.which("bash")
    if bash is None:
        if scripts:
            say(f"not activated, because bash is missing: {', '.join(script.name for script in scripts)}")
        return plain
    path = [str(folder / "bin"), *os.defpath.split(os.pathsep)]
    script = activate(folder, ActivationVariables(None, path)).script
    exported = _run_script(bash, str(script), folder, path, say)
    return {**plain, **exported}


def _run_script(bash: str, script: str, folder: Path, path: Sequence[str], say: Say) -> Mapping[str, str]:
    environ = {"PATH": os.pathsep.join(path), "HOME": os.environ.get("HOME", "/"), "CONDA_PREFIX": str(folder)}
    # The scripts' own output is discarded; the variables arrive on a file descriptor that they do not use.
    text = f"exec 9>&1 >/dev/null 2>&1\n{script}\nexec env -0 >&9"
    done = subprocess.run(
        [bash, "-c", text], env=environ, cwd=folder, capture_output=True, text=True, errors="replace", timeout=60,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        say(f"the activation scripts of the packages failed and are ignored (exit code {done.returncode})")
        return {}
    after = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)
    return {k: v for k, v in after.items() if k not in _OF_THE_SHELL and environ.get(k) != v}
