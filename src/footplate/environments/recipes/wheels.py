"""Wheels that recipes build: once per content, kept under `<root>/.wheels/<key>/`, complete or not there at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from footplate.domain.inherited_variables import build_variables
from footplate.environments import built_environments, uv
from footplate.environments.base import BuildContext
from footplate.environments.subprocesses import stream
from footplate.errors import Broken, InvalidInput

STORE = ".wheels"
_LAST_LINES = 120
_PERCENT = re.compile(r"\s*\[ *(\d+)%\]")
_ERROR = re.compile(r"(^|: )(fatal )?(error|Error)\b")


def build_wheel(recipe: Mapping[str, Any], pins: str, python: str, context: BuildContext) -> Path:
    """Return the wheel of a locked recipe for this interpreter. `pins` are installed while it is built."""
    folder = context.root / STORE / _key(recipe, python)
    with built_environments.hold_lock(
        Path(f"{folder}.lock"), context.say, "another process is building the same wheel"
    ):
        wheels = sorted(folder.glob("*.whl"))
        if wheels:
            os.utime(folder)  # its last use
            return wheels[0]
        title = f"{recipe['name']} {recipe['version']}"
        context.say(
            f"building {title} from source with {len(recipe['edits'])} edits; this takes minutes, but only once"
        )
        with tempfile.TemporaryDirectory(prefix=f".{recipe['name']}-", dir=folder.parent) as place:
            return _keep(_WheelBuild(recipe, Path(place), context).run(python, pins), folder)


def _key(recipe: Mapping[str, Any], python: str) -> str:
    """Two patch versions of a Python share their wheels, two minor versions do not."""
    code = "import sys; print(sys.implementation.cache_tag)"
    tag = subprocess.run(
        [python, "-I", "-S", "-c", code], capture_output=True, text=True, check=True, env=build_variables(os.environ)
    ).stdout.strip()
    content = [recipe, tag, sysconfig.get_platform()]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _keep(wheel: Path, folder: Path) -> Path:
    aside = wheel.parent / "kept"
    aside.mkdir()
    os.replace(wheel, aside / wheel.name)
    with open(aside / wheel.name, "rb") as file:
        os.fsync(file.fileno())
    os.replace(aside, folder)
    return folder / wheel.name


def clear(root: Path, before: float) -> int:
    """Remove wheels last used before this time; return the bytes that this freed. Environments keep their copies."""
    freed = 0
    for folder in (root / STORE).glob("*/"):
        if os.stat(folder).st_mtime < before:
            freed += sum(file.stat().st_size for file in folder.iterdir())
            shutil.rmtree(folder, ignore_errors=True)
    return freed


class _WheelBuild:
    """A temporary environment with the build tools and everything that the wheel is linked against."""

    def __init__(self, recipe: Mapping[str, Any], place: Path, context: BuildContext) -> None:
        self._recipe = recipe
        self._place = place
        self._context = context
        self._title = f"{recipe['name']} {recipe['version']}"
        self._python = str(place / "env" / "bin" / "python")
        self._programs: list[str] = []
        self._percent = ""

    def run(self, python: str, pins: str) -> Path:
        self._programs = [str(self._place / "env" / "bin"), os.path.dirname(python)]  # conda's MPI is beside its Python
        self._install(python, pins)
        source = self._unpack(self._download())
        self._edit(source)
        self._pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(self._place), str(source), "-v"])
        return next(iter(self._place.glob("*.whl")))

    def _install(self, python: str, pins: str) -> None:
        self._uv(["venv", "--quiet", "--python", python, str(self._place / "env")])
        if self._recipe.get("inside"):  # conda packages cannot be installed here as wheels: link to them
            site = built_environments.site_packages(self._place / "env")
            installed = built_environments.site_packages(Path(python).parent.parent)
            (site / "conda.pth").write_text(f"{installed}\n", encoding="utf-8")
        # The tools come last: they need an older setuptools than the packages would bring.
        for name, text in (("pins.txt", pins), ("tools.txt", str(self._recipe["tools"]))):
            path = self._place / name
            path.write_text(text, encoding="utf-8")
            self._uv(["pip", "install", "--quiet", "--no-deps", "--python", self._python, "-r", str(path)])

    def _download(self) -> Path:
        """Download the source with pip: it uses the user's index, certificates and credentials, and checks the hash."""
        requirement_file = self._place / "source.txt"
        recipe = self._recipe
        requirement_file.write_text(f"{recipe['name']}=={recipe['version']} --hash=sha256:{recipe['sha256']}\n")
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes"]
        self._pip(["download", *options, "--dest", str(self._place), "-r", str(requirement_file)])
        return next(iter(self._place.glob(f"{recipe['name']}-*.tar.gz")))

    def _unpack(self, archive: Path) -> Path:
        with tarfile.open(archive) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            packed.extractall(self._place)
        return self._place / archive.name[: -len(".tar.gz")]

    def _edit(self, source: Path) -> None:
        for path, before, after in self._recipe["edits"]:
            text = (source / path).read_text(encoding="utf-8")
            if before not in text:
                raise Broken(f"{path} of {source.name} does not contain {before!r}", "report this recipe as broken")
            (source / path).write_text(text.replace(before, after), encoding="utf-8")

    def _uv(self, arguments: Sequence[str]) -> None:
        context = self._context
        code, _, messages = uv.run_uv(arguments, context.say, context.root, keep_open=[context.lock_fd])
        if code != 0:
            raise Broken(f"{self._title} cannot be built: its tools could not be installed:\n{messages}", "see above")

    def _pip(self, arguments: Sequence[str]) -> None:
        """Run pip of the temporary environment."""
        environ = build_variables(os.environ)
        environ["PATH"] = os.pathsep.join([*self._programs, environ.get("PATH") or os.defpath])
        environ.setdefault("MAKEFLAGS", f"-j{len(os.sched_getaffinity(0))}")
        environ.update(self._recipe["variables"])
        argv = [self._python, "-m", "pip", *arguments]
        done = stream(argv, self._show, environ, keep_open=[self._context.lock_fd], show_output=True, unprivileged=True)
        if done.code != 0:
            self._explain(done.messages.splitlines()[-_LAST_LINES:])

    def _show(self, line: str) -> None:
        """Log only progress and errors: a compiler prints thousands of lines."""
        percent = _PERCENT.match(line)
        if (percent and percent[1] != self._percent) or _ERROR.search(line):
            self._percent = percent[1] if percent else self._percent
            self._context.say(f"  {line.strip()[:200]}")

    def _explain(self, last_lines: Sequence[str]) -> None:
        missing = [program for program in ("make", "c++") if shutil.which(program) is None]
        if missing:
            raise InvalidInput(
                f"{self._title} is built from source, and this machine lacks {' and '.join(missing)}",
                "install a C++ compiler and make, for example: apt-get install g++ make",
            )
        details = "\n".join(last_lines)
        raise Broken(f"{self._title} cannot be built:\n{details}", "see the build log of the run")
