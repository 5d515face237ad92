"""Wheels made by recipes: each once per content, kept under `<root>/.wheels/<key>/`, whole or not there at all."""

from __future__ import annotations

import contextlib
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

from footplate.environments import built_environments
from footplate.environments.base import Say
from footplate.environments.uv import run_uv
from footplate.errors import Broken, InvalidInput

STORE = ".wheels"
_TAIL = 120
# Of a compiler's thousands of lines, those that say how far it is, and what went wrong.
_PERCENT = re.compile(r"\s*\[ *(\d+)%\]")
_ERROR = re.compile(r"(^|: )(fatal )?(error|Error)\b")


def wheel_of(recipe: Mapping[str, Any], pins: str, python: str, root: Path, say: Say, held: int) -> Path:
    """The wheel of a locked recipe for this interpreter. `pins` are installed beside it while it is built."""
    shelf = root / STORE / _key(recipe, python)
    with built_environments.turn(Path(f"{shelf}.lock"), say, "another process is building the same wheel"):
        found = sorted(shelf.glob("*.whl"))
        if found:
            os.utime(shelf)  # its last use
            return found[0]
        title = f"{recipe['name']} {recipe['version']}"
        say(f"building {title} from its source, with {len(recipe['edits'])} edits; minutes, and only once")
        with tempfile.TemporaryDirectory(prefix=f".{recipe['name']}-", dir=shelf.parent) as place:
            return _keep(_Kitchen(recipe, Path(place), root, say, held).cook(python, pins), shelf)


def _key(recipe: Mapping[str, Any], python: str) -> str:
    """Two patches of a Python share their wheels, two minor versions do not."""
    code = "import sys; print(sys.implementation.cache_tag)"
    tag = subprocess.run([python, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    content = [recipe, tag, sysconfig.get_platform()]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _keep(wheel: Path, shelf: Path) -> Path:
    aside = wheel.parent / "kept"
    aside.mkdir()
    os.replace(wheel, aside / wheel.name)
    with open(aside / wheel.name, "rb") as file:
        os.fsync(file.fileno())
    os.replace(aside, shelf)
    return shelf / wheel.name


def clear(root: Path, before: float) -> int:
    """Remove wheels that were not used after `before`; the bytes that this freed. What is built of them stays."""
    freed = 0
    for shelf in (root / STORE).glob("*/"):
        if os.stat(shelf).st_mtime < before:
            freed += sum(file.stat().st_size for file in shelf.iterdir())
            shutil.rmtree(shelf, ignore_errors=True)
    return freed


class _Kitchen:
    """A throw-away environment with all that the wheel is linked against, and the tools."""

    def __init__(self, recipe: Mapping[str, Any], place: Path, root: Path, say: Say, held: int) -> None:
        self._recipe = recipe
        self._place = place
        self._cache = root / ".uv-cache"
        self._say = say
        self._held = held
        self._python = str(place / "env" / "bin" / "python")
        self._programs = list[str]()

    def cook(self, python: str, pins: str) -> Path:
        self._programs = [str(self._place / "env" / "bin"), os.path.dirname(python)]  # an MPI of conda lies there
        self._install(python, pins)
        source = self._unpack(self._fetch())
        self._edit(source)
        self._call(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(self._place), str(source), "-v"])
        return next(iter(self._place.glob("*.whl")))

    def _install(self, python: str, pins: str) -> None:
        self._uv(["venv", "--quiet", "--python", python, str(self._place / "env")])
        if self._recipe.get("inside"):  # what conda has brought is no wheel that could be installed here as well
            there = built_environments.site_packages(Path(python).parent.parent)
            (built_environments.site_packages(self._place / "env") / "brought.pth").write_text(
                f"{there}\n", encoding="utf-8"
            )
        # The tools last: an older setuptools than the one that the packages would have.
        for name, text in (("pins.txt", pins), ("tools.txt", str(self._recipe["tools"]))):
            path = self._place / name
            path.write_text(text, encoding="utf-8")
            self._uv(["pip", "install", "--quiet", "--no-deps", "--python", self._python, "-r", str(path)])

    def _fetch(self) -> Path:
        """pip fetches it: with the user's own index, certificates and credentials, and the hash of the lock."""
        wanted = self._place / "source.txt"
        recipe = self._recipe
        wanted.write_text(f"{recipe['name']}=={recipe['version']} --hash=sha256:{recipe['sha256']}\n")
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes"]
        self._call(["download", *options, "--dest", str(self._place), "-r", str(wanted)])
        return next(iter(self._place.glob(f"{recipe['name']}-*.tar.gz")))

    def _unpack(self, archive: Path) -> Path:
        with tarfile.open(archive) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            packed.extractall(self._place)
        return self._place / archive.name.removesuffix(".tar.gz")

    def _edit(self, source: Path) -> None:
        for path, before, after in self._recipe["edits"]:
            text = (source / path).read_text(encoding="utf-8")
            if before not in text:
                raise Broken(f"{path} of {source.name} has no {before!r} to be edited", "report this recipe as broken")
            (source / path).write_text(text.replace(before, after), encoding="utf-8")

    def _uv(self, arguments: Sequence[str]) -> None:
        code, _, talk = run_uv(arguments, self._say, self._cache, keep_open=[self._held])
        if code != 0:
            raise Broken(f"{self._title} cannot be built: its tools could not be installed:\n{talk}", "see above")

    def _call(self, arguments: Sequence[str]) -> None:
        """pip of the throw-away environment; its talk goes to the log as far as it tells something."""
        environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        environ["PATH"] = os.pathsep.join([*self._programs, environ.get("PATH") or os.defpath])
        environ.setdefault("MAKEFLAGS", f"-j{len(os.sched_getaffinity(0))}")
        environ.update(self._recipe["variables"])
        argv = [self._python, "-m", "pip", *arguments]
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ, text=True, errors="replace",
            pass_fds=[self._held], start_new_session=True,
        ) as process:  # fmt: skip
            tail = self._listen(process)
        if process.returncode != 0:
            self._explain(tail)

    def _listen(self, process: subprocess.Popen[str]) -> list[str]:
        """The last lines, for the case that it fails. Ends with us: an interrupted build kills what it started."""
        tail, told = list[str](), ""
        assert process.stdout is not None
        try:
            for raw in process.stdout:
                line = raw.rstrip()
                tail = [*tail[-_TAIL:], line]
                percent = _PERCENT.match(line)
                if (percent and percent[1] != told) or _ERROR.search(line):
                    told = percent[1] if percent else told
                    self._say(f"  {line.strip()[:200]}")
            return tail
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            raise

    def _explain(self, tail: Sequence[str]) -> None:
        words = "\n".join(tail)
        missing = [program for program in ("make", "c++") if shutil.which(program) is None]
        if missing:
            raise InvalidInput(
                f"{self._title} is built from its source, and this machine has no {' and no '.join(missing)}",
                "install a C++ compiler and make, for example: apt-get install g++ make",
            )
        raise Broken(f"{self._title} cannot be built:\n{words}", "see the build log of the run")

    @property
    def _title(self) -> str:
        return f"{self._recipe['name']} {self._recipe['version']}"
