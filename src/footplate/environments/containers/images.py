"""The image that a container environment begins with: one by name, or one made from a Dockerfile.

As content of a lock it is `{"image", "id", "pulled"}`, where the id decides and `pulled` is how another machine gets
it, or `{"dockerfile", "context"}`, built once per content under a name that the content gives.
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

_REMOTE = re.compile(r"https?://|git@|ssh://")


def full_name(asked: Mapping[str, Any], otherwise: str) -> str:
    """The image's name with its registry's address, as the engine wants it."""
    name = str(asked.get("base_image") or otherwise)
    registry: Mapping[str, Any] = asked.get("registry") or {}
    address = host_of(str(registry.get("address") or ""))
    return name if not address or name.startswith(f"{address}/") else f"{address}/{name}"


def lock_base(
    engine: ContainerEngine, asked: Mapping[str, Any], otherwise: str, settings: ResolverSettings, say: Say
) -> dict[str, Any]:
    """What to begin with, as content. A Dockerfile is built now: only then is its Python known."""
    if asked.get("base_dockerfile") or asked.get("build_context"):
        base = {"dockerfile": asked.get("base_dockerfile"), "context": asked.get("build_context")}
        if base["dockerfile"]:
            _refuse_to_copy(str(base["dockerfile"]))
            base["dockerfile"] = _pinned(engine, str(base["dockerfile"]), settings.logins, say)
        fetch_base(engine, base, settings.root, say)
        return base
    name = full_name(asked, otherwise)
    found = engine.pull(name, say, settings.logins)
    base = {"image": name, "id": found.id, "pulled": found.pulled}
    registry = f"https://{name.partition('/')[0]}"
    if settings.logins.user_of(registry) is not None:
        base["registry"] = registry  # by which the login is found for a node that has to pull it, too
    return base


def fetch_base(
    engine: ContainerEngine, base: Mapping[str, Any], root: Path, say: Say, logins: Logins = NO_LOGINS
) -> Image:
    """The image on this machine, pulled or built if it is not there yet."""
    if "image" not in base:
        return _build(engine, base, root, say)
    found = engine.image(str(base["id"]))
    if found is not None:
        return found
    if base.get("pulled") is None:
        raise InvalidInput(
            f"the image {base['image']!r} ({str(base['id'])[:19]}) was made on one machine and is not on this one",
            "push it to a registry that both machines reach, and name it by that",
        )
    found = engine.pull(str(base["pulled"]), say, logins)
    if found.id != base["id"]:
        raise Broken(f"{base['pulled']} is the image {found.id[:19]}, and the lock says {str(base['id'])[:19]}")
    return found


def base_name(base: Mapping[str, Any]) -> str | None:
    """The name that an image made from a Dockerfile has; None for one that was pulled."""
    if "image" in base:
        return None
    return f"localhost/footplate-base:{hashlib.sha256(json.dumps(base, sort_keys=True).encode()).hexdigest()}"


# ── Dockerfiles ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _build(engine: ContainerEngine, base: Mapping[str, Any], root: Path, say: Say) -> Image:
    name = base_name(base) or ""
    known = engine.image(name)
    if known is not None:
        return known
    say("building the image of the Dockerfile")
    with _context(base, root) as (place, dockerfile):
        engine.call(["build", "--network", "host", "--file", dockerfile, "--tag", name, place], say, whole=True)
    found = engine.image(name)
    if found is None:
        raise Broken(f"{engine.name} built {name} and does not have it", f"see: {engine.name} images")
    return found


@contextlib.contextmanager
def _context(base: Mapping[str, Any], root: Path) -> Generator[tuple[str, str]]:
    """Where the engine builds, and the Dockerfile: a folder that is gone afterwards, or a repository's address."""
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


def _lay_out(snapshot: str, root: Path, folder: str) -> None:
    """A context that was taken into the server's store, which on one machine lies beside the environments."""
    store = BlobFolder(str(root.parent / "blobs"))
    if not store.has(snapshot):
        raise InvalidInput(
            f"the build context {snapshot[:12]} is not on this machine",
            "use DockerBuildContext.from_git, or build where the server is",
        )
    with store.open(snapshot) as manifest:
        materialize(manifest.read(), store.copy_to, folder)


def _refuse_to_copy(text: str) -> None:
    """A Dockerfile without a context has only stages and addresses to copy from; an engine would name a lost file."""
    for words in map(str.split, text.replace("\\\n", " ").splitlines()):
        if not words or words[0].upper() not in ("COPY", "ADD"):
            continue
        given = [word for word in words[1:] if not word.startswith("--")]
        sources = [word.strip('[",') for word in given[:-1]]
        if any(word.startswith("--from=") for word in words) or any(word.startswith("<<") for word in given):
            continue
        lost = [source for source in sources if not (words[0].upper() == "ADD" and _REMOTE.match(source))]
        if lost:
            raise InvalidInput(
                f"the Dockerfile has {' '.join(words)!r}, and no folder from which {lost[0]!r} could be copied",
                "keep the Dockerfile in that folder: DockerBuildContext.from_local_directory(workspace, folder) and "
                "Environment.from_docker_build_context(name, context)",
            )


def _pinned(engine: ContainerEngine, text: str, logins: Logins, say: Say) -> str:
    """The Dockerfile with its FROM lines naming exact images, so that it begins with the same ones next year."""
    stages = {match[4].lower() for match in _FROM.finditer(text) if match[4]}

    def pin(line: re.Match[str]) -> str:
        name = line[2]
        if name.lower() in {"scratch", *stages} or "$" in name or "@" in name:
            return line[0]
        return f"{line[1]}{engine.pull(name, say, logins).pulled or name}{line[3]}"

    return _FROM.sub(pin, text)
