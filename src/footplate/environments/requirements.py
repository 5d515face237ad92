"""Lines of requirements: the packages that they name, pip's options, and the azureml packages that Footplate
replaces."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from footplate.content.blobs import hash_file
from footplate.environments.base import Say, without_prefix
from footplate.errors import InvalidInput

if TYPE_CHECKING:  # an agent starts sooner without it
    from footplate.domain.specs import EnvironmentSpec

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|[\[<>=!~;@\s(,])")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_WHEEL = re.compile(r"([A-Za-z0-9_.]+)-[^-/]+(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
_ARCHIVE = re.compile(r"([A-Za-z0-9_.-]+?)-\d[^-/]*\.(?:tar\.gz|tar\.bz2|tgz|zip)")
_LOCAL = re.compile(r"(\.{0,2}/|~|file:|-e\s|--editable|-r\s|--requirement|-c\s|--constraint)|.*@\s*(file:|\.{0,2}/)")
_FILE = re.compile(r"(?!\S*://)[^@\s]+\.(whl|tar\.gz|zip)\s*(;|$)")
_PANDAS = re.compile(r"[^\[;]*\[[^\]]*\bpandas\b[^\]]*\][^;]*(?P<marker>;.*)?", re.IGNORECASE)
_EDITABLE = re.compile(r"^(-e\s*|--editable[\s=]\s*)")
_PLACE = re.compile(r"^(-c\s*|--constraint[\s=]\s*|[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\])?\s*@\s*)")
_RELATIVE = re.compile(
    r"(?:[\w.-]+\s*(?:\[[^\]]*\])?\s*@\s*)?"
    r"(?:file:(?!/)|~|\.{1,2}(?:$|[/\[\s;])|(?!/)[^\s:@\[;+]+/|[^\s:/]+\.(?:whl|tar\.gz|zip)(?:$|[\s;]))"
)
_PRODUCT = re.compile(r"\..*|__pycache__|build|dist|.*\.egg-info")
_SHORT_OPTIONS = ("-i", "-f", "-c")
_OPTIONS = frozenset(
    [
        "--index-url", "--extra-index-url", "--find-links", "--no-index", "--constraint", "--no-binary",
        "--only-binary", "--pre", "--trusted-host", "--require-hashes", "-i", "-f", "-c",
    ]
)  # fmt: skip
_STRATEGY = ("--index-strategy", "unsafe-best-match")  # like pip: the best version of all indexes
_COMMENT = re.compile(r"(^|\s)#(?!egg=|sha256=|subdirectory=).*")

AZUREML_PACKAGES = tuple(
    f"azureml-{part}"
    for part in (
        "automl-core", "automl-runtime", "contrib-services", "core", "dataprep", "dataprep-native", "dataprep-rslex",
        "dataset-runtime", "defaults", "explain-model", "inference-server-http", "interpret", "mlflow", "opendatasets",
        "pipeline", "pipeline-core", "pipeline-steps", "sdk", "telemetry", "train", "train-automl-client", "train-core",
        "train-restclients-hyperdrive", "widgets",
    )
)  # fmt: skip
"""azureml packages that other packages depend on; they are excluded from dependencies, too."""


def conda_lines(spec: EnvironmentSpec, part: str) -> list[str]:
    """Return the lines of a part of the spec's conda file: channels, dependencies or pip."""
    conda: dict[str, Any] = spec.options.get("conda") or {}
    return [str(line) for line in conda.get(part) or ()]


def pip_lines(spec: EnvironmentSpec) -> list[str]:
    """Return the requirements of a spec, clean, with those of its conda file."""
    return clean([*spec.requirements, *conda_lines(spec, "pip")])


def clean(texts: Iterable[str]) -> list[str]:
    """Return one requirement or option per line, without comments; a line that ends with a backslash continues.

    An editable install becomes a plain one: a run must not depend on what a folder contains later. A line that cannot
    be honoured is an error.
    """
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    cleaned = (_EDITABLE.sub("", _COMMENT.sub("", line).strip()) for line in lines)
    return [_check_line(line) for line in cleaned if line]


def _check_line(line: str) -> str:
    if is_option(line):
        name = re.split(r"[\s=]", line, maxsplit=1)[0]
        if name[:2] not in _SHORT_OPTIONS and name not in _OPTIONS:
            raise InvalidInput(
                f"the pip option {line!r} is not supported here", f"use some of {', '.join(sorted(_OPTIONS))}"
            )
    elif _RELATIVE.match(line):
        raise InvalidInput(f"{line!r} is a relative path", "give the absolute path, or write it in a requirements file")
    return line


def uv_arguments(options: Iterable[str]) -> list[str]:
    """Return arguments of uv for the options of pip that uv ignores in a requirements file."""
    arguments: list[str] = []
    for line in options:
        name, _, value = line.replace("=", " ", 1).partition(" ")
        if name == "--pre":
            arguments += ["--prerelease", "allow"]
        elif name == "--trusted-host":
            arguments += ["--allow-insecure-host", value.strip()]
        elif name == "--extra-index-url" and _STRATEGY[0] not in arguments and "UV_INDEX_STRATEGY" not in os.environ:
            arguments += _STRATEGY
    return arguments


def local_content(lines: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file or folder of this machine that a line installs or names: lines do not change when
    content does."""
    paths = (re.split(r"[\[;#\s]", _PLACE.sub("", line), maxsplit=1)[0] for line in lines)
    plain_paths = (without_prefix(path, "file://") for path in paths)
    return {path: _digest(path) for path in plain_paths if path.startswith("/") and os.path.exists(path)}


def _digest(path: str) -> str:
    if os.path.isfile(path):
        return hash_file(path)[0]
    total = hashlib.sha256()
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not _PRODUCT.fullmatch(name))
        for name in sorted(files):
            file = os.path.join(folder, name)
            if os.path.isfile(file) and not name.endswith(".pyc"):
                total.update(
                    f"{os.path.relpath(file, path)}\0{hash_file(file)[0]}\n".encode("utf-8", "surrogateescape")
                )
    return total.hexdigest()


def without_azureml(lines: Iterable[str], say: Say) -> list[str]:
    """Return the lines to install, without the azureml packages, which Footplate replaces.

    Scripts that read tables request pandas as `azureml-dataprep[pandas]` or `azureml-dataset-runtime[pandas]`:
    Footplate replaces the package, but pandas is still needed.
    """
    others: list[str] = []
    for line in lines:
        if not is_azureml(line):
            others.append(line)
            continue
        say(f"{line}: not installed, Footplate provides the azureml names itself")
        if with_pandas := _PANDAS.match(line):
            others.append(f"pandas{with_pandas['marker'] or ''}")
    return others


def is_azureml(line: str) -> bool:
    name = name_of(line)
    return name is not None and (name == "azureml" or name.startswith("azureml-"))


def name_of(line: str) -> str | None:
    """Return the normalized name of the distribution that a line requests; None for options and for paths without a
    name."""
    if line.startswith(("-e ", "--editable ", "--editable=")):
        line = line[2:].lstrip() if line.startswith("-e ") else line[len("--editable") + 1 :].lstrip()
    elif is_option(line):
        return None
    if _is_place(line):
        file = line.split("#", 1)[0].split("?", 1)[0].split(";", 1)[0].strip().rsplit("/", 1)[-1]
        match = _EGG.search(line) or _WHEEL.fullmatch(file) or _ARCHIVE.fullmatch(file)
    else:
        match = _NAME.match(line)
    return normalize(match.group(1)) if match else None


def _is_place(line: str) -> bool:
    head = re.split(r"[;\s@]", line, maxsplit=1)[0]
    return "/" in head or head.endswith((".whl", ".tar.gz", ".zip"))


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def is_option(line: str) -> bool:
    return line.startswith("-") and not _EDITABLE.match(line)


def names_local_files(lines: Sequence[str]) -> bool:
    """Whether the meaning of the lines can change while the lines stay the same."""
    return any(_LOCAL.match(line) or _FILE.match(line) for line in lines)
