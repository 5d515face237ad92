"""An interpreter that the user manages (`user_managed_dependencies`): nothing is installed or changed.

A run over MPI gets Open MPI from an environment beside it, if neither the interpreter nor the machine has an MPI.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from footplate.domain.inherited_variables import build_variables
from footplate.domain.locks import MPI
from footplate.domain.orders import Lock
from footplate.domain.values import replace
from footplate.environments.base import OLDEST, Interpreter, ResolverSettings, Say, make_lock
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.errors import Broken, InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    import shutil
    import subprocess

    from footplate.domain.specs import EnvironmentSpec
    from footplate.environments import venv
else:  # an agent starts sooner without them: only runs over MPI, bare names and new interpreters need them
    shutil = Deferred("shutil")
    subprocess = Deferred("subprocess")
    venv = Deferred("footplate.environments.venv")

_PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"
_HINT = (
    "a run without an environment uses the Python that submits it. Name its packages instead: footplate run -r FILE or "
    "--environment NAME; in the SDK environment=Environment.from_pip_requirements(NAME, FILE). Or name a Python of the "
    "machine where it runs: --python PATH; in the SDK environment.python.interpreter_path"
)


class ExistingBuilder:
    name = "existing"

    def lock(self, spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
        """Resolve nothing: the node checks whether the interpreter exists, because it may be another machine."""
        interpreter = spec.interpreter or sys.executable
        return make_lock(self.name, {"interpreter": interpreter})

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        named = str(lock.content["interpreter"])
        path = _find(named)
        if path is None:
            raise InvalidInput(
                f"there is no Python interpreter {named!r} on this machine ({os.uname().nodename})", _HINT
            )
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            raise InvalidInput(f"{path} is not an executable program", _HINT)
        _see_it_run(path, root)
        interpreter = Interpreter((path,), _conda_variables(path))
        brings_mpi = MPI in lock.content and not has_mpi(path)
        return _with_mpi(interpreter, lock, root, say, logins) if brings_mpi else interpreter


def has_mpi(interpreter: str) -> bool:
    """Whether an MPI lies beside the interpreter, or on the machine's search path."""
    folders = [os.path.dirname(interpreter), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    return any(os.access(os.path.join(each, name), os.X_OK) for each in folders for name in ("mpirun", "mpiexec"))


def _with_mpi(interpreter: Interpreter, lock: Lock, root: Path, say: Say, logins: Logins) -> Interpreter:
    brought = venv.VenvBuilder().build(make_lock(venv.VenvBuilder.name, lock.content[MPI]), root, say, logins)
    prefix = brought.variables["OPAL_PREFIX"]
    return replace(
        interpreter, variables={**interpreter.variables, "OPAL_PREFIX": prefix}, programs=(os.path.join(prefix, "bin"),)
    )


def _find(named: str) -> str | None:
    """Return a path as it is (a virtual environment depends on its path, so links are kept); look a bare name up in
    PATH."""
    if os.sep in named:
        path = os.path.abspath(os.path.expanduser(named))
        return path if os.path.exists(path) else None
    return shutil.which(named)


def _conda_variables(path: str) -> dict[str, str]:
    """Activate the conda prefix: many packages find their files by these variables."""
    prefix = os.path.dirname(os.path.dirname(path))
    if not os.path.isdir(os.path.join(prefix, "conda-meta")):
        return {}
    return {"CONDA_PREFIX": prefix, "CONDA_DEFAULT_ENV": prefix, "CONDA_SHLVL": "1"}


def _see_it_run(path: str, root: Path) -> None:
    """Check that the interpreter runs: once per interpreter, not once per run, because starting one is slow."""
    info = os.stat(path)
    key = hashlib.sha256(f"{path}\0{info.st_dev}\0{info.st_ino}\0{info.st_mtime_ns}\0{info.st_size}".encode())
    proof = os.path.join(root, ".existing", key.hexdigest())
    if os.path.exists(proof):
        return
    version = _ask_version(path)
    if version < OLDEST:
        raise InvalidInput(
            f"{path} is Python {version[0]}.{version[1]}, and jobs need at least {OLDEST[0]}.{OLDEST[1]}", _HINT
        )
    os.makedirs(os.path.dirname(proof), exist_ok=True)
    with open(proof, "w") as file:
        file.write(path)


def _ask_version(path: str) -> tuple[int, int]:
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False, errors="replace",
            env=build_variables(os.environ),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"{path} does not run: {error}", _HINT) from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-500:] or f"it ended with {done.returncode}"
        raise InvalidInput(f"{path} is not a working Python interpreter: {words}", _HINT)
    try:
        major, minor = done.stdout.strip().split(".")
        return int(major), int(minor)
    except ValueError:
        raise Broken(f"{path} answered {done.stdout[:80]!r} when asked for its version", _HINT) from None
