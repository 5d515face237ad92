"""Archives that agents on other machines fetch: Footplate itself, as one file that is named by its content.

The bundle has the packages that agents and jobs import, and nothing that only the server needs. Beside them,
`agent_packages/<oldest Python>/` holds small distributions of the server that agents use, where jobs do not find them:
jobs have their own. The same files give the same bytes. Archives of earlier versions stay for the agents of runs that
still wait in a queue.

Tools are distributions of the server that an agent on a machine of the same kind can run: uv, obstore and the like.
They are too large for the agent bundle, so an agent requests one when it needs it. A tool is the installed files of a
distribution and of those that it requires. A wheel fits a node by its tags: Python, machine and C library.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import os
import re
import threading
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

import footplate
from footplate.content.blobs import BlobFolder
from footplate.errors import NotFound

SERVER_ONLY = frozenset({"engines", "server", "services", "storage", "testing", "tuning"})
"""Packages that neither an agent nor a job imports."""

AGENT_PACKAGES = ("mfusepy", "nvidia-ml-py", "packaging", "psutil")
"""Small distributions for agents: pure Python, or built for the server's platform and any Python."""

_PACKAGE = Path(footplate.__file__).parent


class AgentArchives:
    """The archives of one server, in a directory of its home."""

    def __init__(self, home: Path) -> None:
        self._files = BlobFolder(str(home / "agent"))
        self._guard = threading.Lock()
        self._bundle: str | None = None
        self._tools: dict[tuple[str, ...], str] = {}

    def bundle(self) -> str:
        """Return the digest of the agent bundle, made on first use: a running server does not change."""
        with self._guard:
            if self._bundle is None or not self._files.has(self._bundle):
                self._bundle = self._files.put_bytes(make_bundle())
            return self._bundle

    def tool(self, module: str, node: NodePlatform) -> str:
        """Return the digest of the archive of a tool for a node, made on first use."""
        distributions = distributions_of(module, node)
        key = (module, *(each.version for each in distributions))
        with self._guard:
            if key not in self._tools or not self._files.has(self._tools[key]):
                self._tools[key] = self._files.put_bytes(make_tool(distributions))
            return self._tools[key]

    def read(self, digest: str) -> Iterator[bytes]:
        return self._files.read(digest)


def make_bundle() -> bytes:
    """Return a zip of `footplate` and, if it is installed, `azureml`."""
    return zip_files(_members())


def _members() -> Iterator[tuple[str, Path]]:
    for path in _sources(_PACKAGE):
        below = path.relative_to(_PACKAGE)
        if below.parts[0] not in SERVER_ONLY:
            yield f"footplate/{below.as_posix()}", path
    for root in _azureml_folders():
        for path in _sources(root):
            yield f"azureml/{path.relative_to(root).as_posix()}", path

    for name in AGENT_PACKAGES:
        yield from sorted(_installed_files(name))


def _installed_files(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of an installed distribution, in a directory that is named after the oldest Python it runs on."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return  # an extra that is not installed
    requirements = distribution.metadata.get_all("Requires-Python") or [""]
    oldest = re.search(r">=\s*(3\.\d+)", requirements[0])
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if ".." not in file.parts and file.suffix in (".py", ".so") and path.is_file():
            yield f"agent_packages/{oldest[1] if oldest else '3.6'}/{file.as_posix()}", path


def _sources(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.suffix in (".py", ".tsv") and path.is_file())


def _azureml_folders() -> list[Path]:
    """Return where `azureml` is installed: it is a namespace package, so ours is recognized by its `core`."""
    spec = importlib.util.find_spec("azureml")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return [Path(place) for place in places if os.path.isfile(os.path.join(place, "core", "__init__.py"))][:1]


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
