"""Bytecode, compiled once per content of a wheel and shared by all environments that contain it.

uv links the files of a wheel from its cache without bytecode. Every environment would compile the same files again, or
every process, where PYTHONDONTWRITEBYTECODE is set. Here each installed distribution is looked up by the content of its
Python files: known bytecode is linked beside them, the rest is compiled and then linked.

`<root>/.bytecode/<cache tag>-<magic>/<key>/` holds `index` (one `path<TAB>mtime<TAB>size` per line) and the files.
Python accepts bytecode that names the source's mtime and size. A wheel that was unpacked again has other mtimes; its
bytecode is then copied, with the right mtime in the header, instead of linked, which still saves the compilation.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from footplate.domain.inherited_variables import build_variables
from footplate.domain.text import counted
from footplate.environments.base import Say
from footplate.environments.built_environments import remove_unlinked

_COMPILER = os.path.join(os.path.dirname(__file__), "compiler.py")
_BATCH = 100
_PROGRESS_SECONDS = 3.0
_HEADER = struct.Struct("<4sIII")  # magic, flags (0: by timestamp), mtime, size of the source
STORE = ".bytecode"


@dataclass(frozen=True)
class Wheel:
    """An installed distribution: its name, and its Python files relative to site-packages."""

    name: str
    key: str
    files: tuple[str, ...]


def share(python: str, site: Path, root: Path, say: Say) -> None:
    """Give every distribution in `site` its bytecode."""
    done = subprocess.run(
        [python, "-I", "-S", _COMPILER, "--tag"],
        capture_output=True,
        text=True,
        check=True,
        env=build_variables(os.environ),
    )
    tag, magic = done.stdout.split()
    store = root / STORE / f"{tag}-{magic}"
    wheels = list(_wheels(site))
    missing = [wheel for wheel in wheels if not (store / wheel.key / "index").exists()]
    if missing:
        count = sum(len(wheel.files) for wheel in missing)
        say(f"compiling {counted(count, 'file')} of {', '.join(wheel.name for wheel in missing)}")
        _compile(python, site, store, missing, say)
    for wheel in wheels:
        _link(store / wheel.key, site, tag)
    (site / "__pycache__").mkdir(exist_ok=True)  # the directory then has the same names before and after its first use


# ── What is installed ─────────────────────────────────────────────────────────────────────────────────────────────────


def _wheels(site: Path) -> Iterator[Wheel]:
    for record in sorted(site.glob("*.dist-info/RECORD")):
        rows = csv.reader(io.StringIO(record.read_text(encoding="utf-8", errors="surrogateescape")))
        files = {row[0]: row[1] for row in rows if len(row) >= 2 and _is_module(row[0])}
        present = {path: digest or _hash(site / path) for path, digest in files.items() if (site / path).is_file()}
        if present:
            text = "\n".join(f"{path} {present[path]}" for path in sorted(present))
            key = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
            yield Wheel(record.parent.name[: -len(".dist-info")], key, tuple(sorted(present)))


def _is_module(path: str) -> bool:
    """Whether to compile this file. Tests make up half of many packages and are rarely imported, so they are
    skipped."""
    parts = path.split("/")
    inside = not path.startswith("/") and ".." not in parts and "\t" not in path
    return path.endswith(".py") and inside and not {"tests", "test"} & set(parts[1:-1])


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ── Compiling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _compile(python: str, site: Path, store: Path, wheels: Sequence[Wheel], say: Say) -> None:
    """Compile each wheel into a temporary directory and rename it, so that nobody sees half of one."""
    asides = {wheel.key: store / f".{wheel.key}.{os.getpid()}" for wheel in wheels}
    pairs = [(str(site / path), str(asides[wheel.key] / f"{path}c")) for wheel in wheels for path in wheel.files]
    try:
        batches = [pairs[at : at + _BATCH] for at in range(0, len(pairs), _BATCH)]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            reported = time.monotonic()
            for done, _ in enumerate(pool.map(_run_compiler, repeat(python), batches), 1):
                if time.monotonic() - reported > _PROGRESS_SECONDS:
                    reported = time.monotonic()
                    say(f"compiled {min(done * _BATCH, len(pairs))} of {counted(len(pairs), 'file')}")
        for wheel in wheels:
            _keep(asides[wheel.key], store / wheel.key, site, wheel)
    finally:
        for aside in asides.values():
            shutil.rmtree(aside, ignore_errors=True)


def _run_compiler(python: str, pairs: Sequence[tuple[str, str]]) -> None:
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    argv = [python, "-I", "-S", "-W", "ignore", _COMPILER]
    subprocess.run(
        argv, input=text, encoding="utf-8", errors="surrogateescape", check=True, env=build_variables(os.environ)
    )


def _keep(aside: Path, place: Path, site: Path, wheel: Wheel) -> None:
    lines: list[str] = []
    for path in wheel.files:
        if (aside / f"{path}c").exists():
            info = os.stat(site / path)
            lines.append(f"{path}\t{int(info.st_mtime)}\t{info.st_size}\n")
    aside.mkdir(parents=True, exist_ok=True)
    (aside / "index").write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
    try:
        os.rename(aside, place)
    except OSError:
        if not (place / "index").exists():  # otherwise another process compiled the same wheel at the same time
            raise


# ── Linking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _link(stored: Path, site: Path, tag: str) -> None:
    created: set[str] = set()
    for line in (stored / "index").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        path, mtime, _ = line.split("\t")
        folder, name = os.path.split(os.path.join(site, path))
        cache = os.path.join(folder, "__pycache__")
        if cache not in created:
            os.makedirs(cache, exist_ok=True)
            created.add(cache)
        target = os.path.join(cache, f"{name[:-3]}.{tag}.pyc")
        source = os.path.join(stored, f"{path}c")
        actual = int(os.stat(os.path.join(folder, name)).st_mtime)
        if actual != int(mtime):
            _copy_dated(source, target, actual)
        else:
            _link_or_copy(source, target)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass  # it came with the wheel
    except OSError:  # the file system has no links, or there are too many
        shutil.copy2(source, target)


def _copy_dated(source: str, target: str, mtime: int) -> None:
    with open(source, "rb") as file:
        data = file.read()
    magic, flags, _, size = _HEADER.unpack_from(data)
    with open(target, "wb") as file:
        file.write(_HEADER.pack(magic, flags, mtime & 0xFFFFFFFF, size) + data[_HEADER.size :])


def clear(root: Path, before: float) -> int:
    """Remove bytecode compiled before this time that no environment links to; return the bytes that this freed."""
    return remove_unlinked((root / STORE).glob("*/*"), before)
