"""Small generated wheels."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    needs: tuple[str, ...] = (),
    python: str = ">=3.8",
    files: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
) -> None:
    """Write a wheel with a module of its own name that contains its version, or with these files (path → text)."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    modules = dict(files or {f"{name}.py": f"version = {version!r}\n"})
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n{needed}"
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for path, text in modules.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/METADATA", about)
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        names = [*modules, f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in names))
