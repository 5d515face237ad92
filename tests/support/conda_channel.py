"""A conda channel in a folder: small generated packages, and a Python package made from the current interpreter."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PLACEHOLDER = "/opt/placeholder_" + "p" * 200
"""Placeholder for the prefix in packages, as long as conda-build's because binary files are patched in place."""

PYTHON = "{}.{}.{}".format(*sys.version_info[:3])
MINOR = "{}.{}".format(*sys.version_info[:2])


@dataclass(frozen=True)
class Package:
    """A conda package. `files` maps paths to contents; PLACEHOLDER in a content becomes the prefix of the environment.

    `entry_points` are for noarch packages, as in `tool = module:function`; `info` holds further metadata files.
    """

    name: str
    version: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    build: str = "0"
    noarch: str | None = None
    programs: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    entry_points: tuple[str, ...] = ()
    info: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def python_package(version: str = PYTHON) -> Package:
    """Return the current interpreter as a conda package: a copy that finds its standard library in place."""
    real = os.path.realpath(sys.executable)
    base = os.path.join(sys.base_prefix, "bin")
    files = {
        f"bin/python{MINOR}": Path(real).read_bytes(),
        "pyvenv.cfg": f"home = {base}\nversion = {PYTHON}\ninclude-system-site-packages = false\n".encode(),
        f"lib/python{MINOR}/site-packages/README.txt": b"packages lie here\n",
    }
    links = {"bin/python": f"python{MINOR}", "bin/python3": f"python{MINOR}"}
    return Package("python", version, files, links=links, programs=frozenset([f"bin/python{MINOR}"]))


def module(name: str, version: str, *depends: str, text: str | None = None) -> Package:
    """Return a noarch package with a module of its own name, which contains its version."""
    code = (text or f"version = {version!r}\n").encode()
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    info = f"site-packages/{name}-{version}.dist-info"
    files = {f"site-packages/{name}.py": code, f"{info}/METADATA": about, f"{info}/INSTALLER": b"conda\n"}
    return Package(name, version, files, ("python >=3.8", *depends), build="pyh0_0", noarch="python")


def make_channel(folder: Path, packages: Sequence[Package]) -> str:
    """Create a channel with these packages and return its address."""
    for package in packages:
        _write(folder, package)
    return index(folder)


def index(folder: Path) -> str:
    from rattler import index as rattler_index  # noqa: PLC0415  # from the extra `conda`

    for subdir in ("noarch", _subdir()):
        (folder / subdir).mkdir(parents=True, exist_ok=True)
    asyncio.run(rattler_index.index_fs(folder, force=True, write_zst=False, write_shards=False))
    return folder.as_uri()


def _subdir() -> str:
    from rattler import Subdir  # noqa: PLC0415  # from the extra `conda`

    return str(Subdir.current())


def _write(folder: Path, package: Package) -> None:
    subdir = "noarch" if package.noarch else _subdir()
    place = folder / subdir
    place.mkdir(parents=True, exist_ok=True)
    content = {**package.files, **_about(package, subdir)}
    with tarfile.open(
        place / f"{package.name}-{package.version}-{package.build}.tar.bz2", "w:bz2", compresslevel=1
    ) as out:
        for path, data in content.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755 if path in package.programs else 0o644
            out.addfile(entry, io.BytesIO(data))
        for path, target in package.links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            out.addfile(entry)


def _about(package: Package, subdir: str) -> dict[str, bytes]:
    about: dict[str, Any] = {
        "name": package.name,
        "version": package.version,
        "build": package.build,
        "build_number": 0,
        "depends": list(package.depends),
        "constrains": list(package.constrains),
        "subdir": subdir,
        "license": "none",
        "timestamp": 1_600_000_000_000,
    }
    if package.noarch:
        about["noarch"] = package.noarch
    paths = [_path(path, data) for path, data in package.files.items()]
    paths += [{"_path": path, "path_type": "softlink"} for path in package.links]
    return {
        "info/index.json": json.dumps(about).encode(),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode(),
        **({"info/link.json": json.dumps(_link(package)).encode()} if package.noarch else {}),
        **{f"info/{name}": data for name, data in package.info.items()},
    }


def _link(package: Package) -> dict[str, Any]:
    noarch: dict[str, Any] = {"type": package.noarch}
    if package.entry_points:
        noarch["entry_points"] = list(package.entry_points)
    return {"noarch": noarch, "package_metadata_version": 1}


def _path(path: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {
        "_path": path,
        "path_type": "hardlink",
        "sha256": hashlib.sha256(data).hexdigest(),
        "size_in_bytes": len(data),
    }
    if PLACEHOLDER.encode() in data:
        mode = "binary" if b"\0" in data else "text"
        found.update(prefix_placeholder=PLACEHOLDER, file_mode=mode)
    return found


def remove_channel(address: str) -> None:
    shutil.rmtree(address.removeprefix("file://"))
