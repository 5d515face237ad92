"""Distributions of the server that an agent on a machine of the same kind can run: uv, obstore and the like.

They are too large for the agent bundle, so an agent requests one when it needs it. A tool is the installed files of a
distribution and of those that it requires. A wheel fits a node by its tags: Python, machine and C library.
"""

from __future__ import annotations

import importlib.metadata
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from footplate.errors import NotFound

TOOLS = {"uv": "uv", "yaml": "pyyaml", "rattler": "py-rattler", "obstore": "obstore", "pyarrow": "pyarrow"}
"""Module that an agent imports → distribution."""

_MOMENT = (2000, 1, 1, 0, 0, 0)
_OLD_NAMES = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}


@dataclass(frozen=True)
class NodePlatform:
    """Interpreter and machine of a node: (3, 8), `x86_64`, and the version of the GNU C library, (0, 0) without it."""

    python: tuple[int, int]
    machine: str
    libc: tuple[int, int]


def distributions_of(module: str, node: NodePlatform) -> list[importlib.metadata.Distribution]:
    """Return the distributions of a tool. Raise NotFound if the server lacks one, or none of its wheels fits."""
    if module not in TOOLS:
        raise NotFound(f"there is no tool {module!r}", f"the tools are {', '.join(sorted(TOOLS))}")
    fitting: dict[str, importlib.metadata.Distribution] = {}
    waiting = [TOOLS[module]]
    while waiting:
        name = waiting.pop()
        if name not in fitting:
            fitting[name] = _find_fitting(name, node)
            waiting += [each.name for each in _requirements(fitting[name], node)]
    return [fitting[name] for name in sorted(fitting)]


def make_tool(distributions: list[importlib.metadata.Distribution]) -> bytes:
    """Return a zip of their files; programs are in `bin/`, where `uv.find_uv_bin` looks for them."""
    return zip_files(sorted(each for one in distributions for each in _files(one)))


def zip_files(files: Iterable[tuple[str, Path]]) -> bytes:
    """Return a zip of files under these names: the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files:
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.external_attr = (0o755 if name.startswith("bin/") else 0o644) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def fits(tag: str, node: NodePlatform) -> bool:
    """Whether a wheel with this tag, such as `cp36-abi3-manylinux_2_12_x86_64`, works on a node."""
    interpreter, abi, platform = tag.split("-")
    return _fits_python(interpreter, abi, node) and (platform == "any" or _fits_machine(platform, node))


def _fits_python(interpreter: str, abi: str, node: NodePlatform) -> bool:
    if abi == "none":
        return "py3" in interpreter.split(".")
    match = re.fullmatch(r"cp3(\d+)", interpreter)
    oldest = (3, int(match[1])) if match else (99, 0)
    return node.python >= oldest if abi == "abi3" else node.python == oldest


def _fits_machine(platform: str, node: NodePlatform) -> bool:
    base, _, machine = platform.partition("_")
    if base == "manylinux":
        numbers = re.fullmatch(r"2_(\d+)_(.*)", machine)
        return numbers is not None and node.libc >= (2, int(numbers[1])) and node.machine == numbers[2]
    return base in _OLD_NAMES and node.libc >= (2, _OLD_NAMES[base]) and node.machine == machine


def _find_fitting(name: str, node: NodePlatform) -> importlib.metadata.Distribution:
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise NotFound(f"the server does not have {name}", "install it on the server or on the node") from None
    tags = re.findall(r"^Tag: (\S+)", distribution.read_text("WHEEL") or "", re.MULTILINE)
    if not any(fits(tag, node) for tag in tags):
        python = ".".join(map(str, node.python))
        raise NotFound(
            f"{name} of the server is for {', '.join(tags) or 'an unknown platform'}, and the node has Python {python} "
            f"on {node.machine} with the C library {'.'.join(map(str, node.libc))}",
            f"install {name} on the node, or set the option python of the compute target",
        )
    return distribution


def _requirements(distribution: importlib.metadata.Distribution, node: NodePlatform) -> list[Requirement]:
    requirements = [Requirement(line) for line in distribution.requires or ()]
    python = ".".join(map(str, node.python))
    there = {"extra": "", "python_version": python, "python_full_version": f"{python}.0"}
    return [each for each in requirements if each.marker is None or each.marker.evaluate(there)]


def _files(distribution: importlib.metadata.Distribution) -> Iterator[tuple[str, Path]]:
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        parts = file.parts
        name = f"bin/{parts[-1]}" if ".." in parts and parts[-2] == "bin" else file.as_posix()
        if ".." not in name and file.suffix != ".pyc" and path.is_file():
            yield name, path
