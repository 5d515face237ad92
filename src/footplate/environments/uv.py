"""Find, configure and run uv. uv does not read pip's configuration, so we pass it on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from footplate.domain.inherited_variables import build_variables
from footplate.environments.subprocesses import stream
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.errors import Broken, InvalidInput
from footplate.pip_settings import pip_settings

# pip's option → uv's variable, and uv's separator between several values. pip separates them by white space.
_TRANSLATION = {
    "index-url": ("UV_DEFAULT_INDEX", None),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "timeout": ("UV_HTTP_TIMEOUT", None),
    "default-timeout": ("UV_HTTP_TIMEOUT", None),
    "cert": ("SSL_CERT_FILE", None),
    "client-cert": ("SSL_CLIENT_CERT", None),
    "proxy": ("ALL_PROXY", None),
    "no-build-isolation": ("UV_NO_BUILD_ISOLATION", None),
}
RESOLVING = frozenset(
    [
        "index-url",
        "extra-index-url",
        "find-links",
        "constraint",
        "no-index",
        "pre",
        "no-build-isolation",
        "no-binary",
        "only-binary",
    ]
)
"""The options of pip that decide which versions are chosen; the others only tell how to reach them."""

STORE = ".uv-cache"
"""uv's cache below the root of the environments."""

_GLIBC = (17, 28, *range(31, 41))  # the minor versions that uv has names for
_YES = ("1", "true", "yes", "on")
# Older names that uv still reads: a user who set one has already decided.
_SYNONYMS = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def find_uv() -> str:
    """Find uv beside our interpreter, in the `uv` package, or on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    if os.access(beside, os.X_OK):
        return beside
    try:
        import uv  # noqa: PLC0415  # optional: an installation without the package may have the program

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        pass
    path = shutil.which("uv")
    if path is None:
        raise Broken(f"uv, which builds environments, is not installed beside {sys.executable}", "run: pip install uv")
    return path


def uv_platform(machine: str, libc: str) -> str:
    """Return uv's name for Linux with this version of the GNU C library, or for the next older one that it knows."""
    parts = libc.split(".")
    minor = int(parts[1]) if parts[0] == "2" and parts[1:2] and parts[1].isdigit() else 0
    fitting = [version for version in _GLIBC if version <= minor]
    if not fitting:
        raise InvalidInput(
            f"packages can only be installed in images with the GNU C library 2.17 or newer, and this image has "
            f"{libc or 'another C library'}",
            "choose an image based on Debian, Ubuntu or Fedora, or install the packages in a Dockerfile",
        )
    return f"{machine}-manylinux_2_{max(fitting)}"


def uv_variables(inherited: Mapping[str, str], settings: Mapping[str, str], cache: Path | None) -> dict[str, str]:
    """Return the environment for uv: pip's `settings` in uv's variables, unless uv's own are set already."""
    variables = dict(inherited)
    for name in (
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "PYTHONPATH",
        "PYTHONHOME",
    ):  # these describe us, not the environment to build
        variables.pop(name, None)
    for option, value in settings.items():
        name, separator = _TRANSLATION.get(option, (None, None))
        if name is None or not value.strip() or name in inherited or _SYNONYMS.get(name, name) in inherited:
            continue
        variables[name] = value.strip() if separator is None else separator.join(value.split())
    if settings.get("pre", "").strip().lower() in _YES:
        variables.setdefault("UV_PRERELEASE", "allow")
    if settings.get("keyring-provider", "disabled").strip().lower() in ("subprocess", "import", "auto"):
        variables.setdefault("UV_KEYRING_PROVIDER", "subprocess")  # the only kind that uv supports
    if "UV_INDEX" in variables or "UV_EXTRA_INDEX_URL" in variables:
        variables.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # like pip: the best version of all indexes
    if cache is not None:
        variables.setdefault("UV_CACHE_DIR", str(cache))
    return variables


def pip_flags(settings: Mapping[str, str]) -> list[str]:
    """Return settings that uv does not read from variables, as arguments of `uv pip compile` and `uv pip sync`."""
    flags = ["--no-index"] if settings.get("no-index", "").strip().lower() in _YES else []
    for option in ("no-binary", "only-binary"):
        for name in settings.get(option, "").replace(",", " ").split():
            flags += [f"--{option}", name]
    return flags


def run_uv(
    arguments: Sequence[str],
    say: Callable[[str], None],
    root: Path | None = None,
    text: str | None = None,
    keep_open: Sequence[int] = (),
    variables: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    logins: Logins = NO_LOGINS,
) -> tuple[int, str, str]:
    """Run uv and pass its messages to `say` line by line. Return the exit code, the output and the messages.

    `root` is the root of the environments, whose cache uv uses. `keep_open` are file locks that uv inherits.
    `variables` are defaults for this call; the user's own take precedence. `without` are variables that this call must
    not see. `logins` are inserted into the text, and removed from everything that uv prints.

    uv runs in the root directory, so it ignores the project in whose directory the server happens to have been started;
    the uv configuration of the user and of the machine applies.
    """
    inherited = build_variables(os.environ)
    settings = pip_settings(inherited)
    environ = uv_variables({**(variables or {}), **inherited}, settings, root / STORE if root else None)
    for name in without:
        environ.pop(name, None)
    argv = [find_uv(), *arguments, *(pip_flags(settings) if arguments[0] == "pip" else ())]
    revealed = None if text is None else logins.reveal(text)
    done = stream(argv, logins.listen(say), environ, revealed, keep_open, unprivileged=True)
    return done.code, logins.conceal(done.output), logins.conceal(done.messages)


def clear_wheels(root: Path, everything: bool) -> None:
    """Remove unused entries from our uv cache, or all entries; never from the user's own. uv waits for other users of
    it."""
    cache = root / STORE
    if cache.is_dir():
        run_uv(["cache", "clean" if everything else "prune", "--cache-dir", str(cache)], lambda _line: None)
