"""Archives that agents on other machines fetch: Footplate itself, as one file that is named by its content.

The bundle has the packages that agents and jobs import, and nothing that only the server needs. Beside them,
`agent_packages/<oldest Python>/` holds small distributions of the server that agents use, where jobs do not find them:
jobs have their own. The same files give the same bytes. Archives of earlier versions stay for the agents of runs that
still wait in a queue.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import footplate
from footplate.content.blobs import BlobFolder
from footplate.services.orchestration.agent_tools import NodePlatform, distributions_of, make_tool, zip_files

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
