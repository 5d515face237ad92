"""The base image of a container environment: an image by name, or one built from a Dockerfile.

In a lock it is `{"image", "id", "pulled"}`, where the id decides and `pulled` is the address for other machines; or
`{"dockerfile", "context"}`, built once per content and named after it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from footplate.content.blobs import BlobFolder
from footplate.content.restore import materialize
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.containers.container_engine import ContainerEngine, Image, host_of
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.errors import Broken, InvalidInput

_FROM = re.compile(r"^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)((?:\s+AS\s+(\S+))?\s*)$", re.IGNORECASE | re.MULTILINE)

_PYTHON_IN_NAME = re.compile(r"(?<![a-z])py(?:thon)?[-_:]?3\.?([5-9]|1\d)(?!\d)", re.IGNORECASE)
_REMOTE = re.compile(r"https?://|git@|git://|ssh://")


def full_name(docker: Mapping[str, Any], otherwise: str) -> str:
    """Return the image's name with its registry's address, as the engine needs it."""
    name = str(docker.get("base_image") or otherwise)
    registry: Mapping[str, Any] = docker.get("registry") or {}
    address = host_of(str(registry.get("address") or ""))
    return name if not address or name.startswith(f"{address}/") else f"{address}/{name}"


def label(name: str | None) -> str:
    """Return what messages call an image: its name, if it has one."""
    return f"the image {name!r}" if name else "the image of the Dockerfile"


def named_base(docker: Mapping[str, Any]) -> str:
    """Return the name of the image, or of the one that its Dockerfile starts from; empty if only a pull would tell."""
    lines = [*_FROM.finditer(str(docker.get("base_dockerfile") or ""))]
    stages = {line[4].lower(): line[2] for line in lines if line[4]}
    name = lines[-1][2] if lines else str(docker.get("base_image") or "")
    while name.lower() in stages:
        name = stages.pop(name.lower())
    return name


def named_python(docker: Mapping[str, Any]) -> str | None:
    """Return the version of the image's Python if names contain it: `python:3.11-slim`, `torch:1.9-py38`."""
    names = (str(docker.get("interpreter") or ""), named_base(docker))
    match = next(filter(None, map(_PYTHON_IN_NAME.search, names)), None)
    return f"3.{match[1]}" if match else None


def lock_base(
    engine: ContainerEngine, docker: Mapping[str, Any], otherwise: str, settings: ResolverSettings, say: Say
) -> dict[str, Any]:
    """Return the base image as content of a lock. A Dockerfile is built now, because only then its Python is known."""
    if docker.get("base_dockerfile") or docker.get("build_context"):
        _check_context(docker.get("build_context") or {})
        base = {"dockerfile": docker.get("base_dockerfile"), "context": docker.get("build_context")}
        if base["dockerfile"]:
            _refuse_to_copy(str(base["dockerfile"]))
            base["dockerfile"] = _pin_images(engine, str(base["dockerfile"]), settings.logins, say)
        fetch_base(engine, base, settings.root, say)
        return base
    name = full_name(docker, otherwise)
    image = engine.pull(name, say, settings.logins)
    base = {"image": name, "id": image.id, "pulled": image.pulled}
    registry = f"https://{name.partition('/')[0]}"
    if settings.logins.user_of(registry) is not None:
        base["registry"] = registry  # another node that has to pull it finds the login by this
    return base


def fetch_base(
    engine: ContainerEngine, base: Mapping[str, Any], root: Path, say: Say, logins: Logins = NO_LOGINS
) -> Image:
    """Return the base image, pulled or built if it is not on this machine."""
    if "image" not in base:
        return _build(engine, base, root, say)
    image = engine.image(str(base["id"]))
    if image is not None:
        return image
    if base.get("pulled") is None:
        raise InvalidInput(
            f"the image {base['image']!r} ({str(base['id'])[:19]}) exists only on the machine that built it",
            "push it to a registry that both machines reach, and use its name there",
        )
    image = engine.pull(str(base["pulled"]), say, logins)
    if image.id != base["id"]:
        raise Broken(f"{base['pulled']} is the image {image.id[:19]}, and the lock says {str(base['id'])[:19]}")
    return image


def base_name(base: Mapping[str, Any]) -> str | None:
    """Return the name of an image built from a Dockerfile; None for one that was pulled."""
    if "image" in base:
        return None
    return f"localhost/footplate-base:{hashlib.sha256(json.dumps(base, sort_keys=True).encode()).hexdigest()}"


# ── Dockerfiles ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _build(engine: ContainerEngine, base: Mapping[str, Any], root: Path, say: Say) -> Image:
    name = base_name(base) or ""
    existing = engine.image(name)
    if existing is not None:
        return existing
    say("building the image of the Dockerfile")
    with _context(base, root) as (place, dockerfile):
        engine.call(["build", "--network", "host", "--file", dockerfile, "--tag", name, place], say, whole=True)
    image = engine.image(name)
    if image is None:
        raise Broken(f"{engine.name} built {name} and does not have it", f"see: {engine.name} images")
    return image


@contextlib.contextmanager
def _context(base: Mapping[str, Any], root: Path) -> Generator[tuple[str, str]]:
    """Yield the build context and the Dockerfile: a temporary directory, or a repository's address."""
    context: Mapping[str, Any] = base.get("context") or {}
    within = str(context.get("dockerfile_path") or "Dockerfile")
    if context.get("location_type") == "git":
        yield str(context["location"]), within
        return
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".context-", dir=root) as folder:
        if context:
            _lay_out(str(context["location"]), root, folder)
        if base.get("dockerfile"):
            (Path(folder) / within).write_text(str(base["dockerfile"]), encoding="utf-8")
        yield folder, f"{folder}/{within}"


def _check_context(context: Mapping[str, Any]) -> None:
    """Refuse a context that would read or write other files of this machine: the server builds it, not the run."""
    within = str(context.get("dockerfile_path") or "")
    place = str(context.get("location"))
    if within.startswith("/") or ".." in within.split("/"):
        raise InvalidInput(
            f"dockerfile_path is {within!r}, outside the build context", "give a path relative to the build context"
        )
    if context.get("location_type") == "git" and not _REMOTE.match(place):
        raise InvalidInput(f"{place!r} is not the address of a git repository", "give one that begins with https://")


def _lay_out(snapshot: str, root: Path, folder: str) -> None:
    """Restore a context from the server's blobs, which are beside the environments if the server runs on this
    machine."""
    store = BlobFolder(str(root.parent / "blobs"))
    if not store.has(snapshot):
        raise InvalidInput(
            f"the build context {snapshot[:12]} is not on this machine",
            "use DockerBuildContext.from_git, or build on the server's machine",
        )
    with store.open(snapshot) as manifest:
        materialize(manifest.read(), store.copy_to, folder)


def _refuse_to_copy(text: str) -> None:
    """Raise InvalidInput if a Dockerfile without a context copies local files; the engine's own message would be
    confusing."""
    for words in map(str.split, text.replace("\\\n", " ").splitlines()):
        if not words or words[0].upper() not in ("COPY", "ADD"):
            continue
        arguments = [word for word in words[1:] if not word.startswith("--")]
        sources = [word.strip('[",') for word in arguments[:-1]]
        if any(word.startswith("--from=") for word in words) or any(word.startswith("<<") for word in arguments):
            continue
        lost = [source for source in sources if not (words[0].upper() == "ADD" and _REMOTE.match(source))]
        if lost:
            raise InvalidInput(
                f"the Dockerfile has {' '.join(words)!r}, but no directory to copy {lost[0]!r} from",
                "keep the Dockerfile in that directory: DockerBuildContext.from_local_directory(workspace, folder) and "
                "Environment.from_docker_build_context(name, context)",
            )


def _pin_images(engine: ContainerEngine, text: str, logins: Logins, say: Say) -> str:
    """Pin the images of the FROM lines, so that the same Dockerfile gives the same image next year."""
    stages = {match[4].lower() for match in _FROM.finditer(text) if match[4]}

    def pin(line: re.Match[str]) -> str:
        name = line[2]
        if name.lower() in {"scratch", *stages} or "$" in name or "@" in name:
            return line[0]
        return f"{line[1]}{engine.pull(name, say, logins).pulled or name}{line[3]}"

    return _FROM.sub(pin, text)
