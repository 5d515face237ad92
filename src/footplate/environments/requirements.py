"""Lines of requirements: the packages that they name, pip's options, and the azureml packages that Footplate
replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from footplate.environments.base import Say

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|[\[<>=!~;@\s(,])")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_WHEEL = re.compile(r"([A-Za-z0-9_.]+)-[^-/]+(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
_ARCHIVE = re.compile(r"([A-Za-z0-9_.-]+?)-\d[^-/]*\.(?:tar\.gz|tar\.bz2|tgz|zip)")
_LOCAL = re.compile(r"(\.{0,2}/|~|file:|-e\s|--editable|-r\s|--requirement|-c\s|--constraint)|.*@\s*(file:|\.{0,2}/)")
_FILE = re.compile(r"(?!\S*://)[^@\s]+\.(whl|tar\.gz|zip)\s*(;|$)")
_PANDAS = re.compile(r"[^\[;]*\[[^\]]*\bpandas\b[^\]]*\][^;]*(?P<marker>;.*)?", re.IGNORECASE)
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


def clean(texts: Iterable[str]) -> list[str]:
    """Return one requirement or option per line, without comments; a line that ends with a backslash continues."""
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    cleaned = (_COMMENT.sub("", line).strip() for line in lines)
    return [line for line in cleaned if line]


def without_azureml(lines: Iterable[str], say: Say) -> list[str]:
    """Return the lines to install, without the azureml packages, which Footplate replaces.

    Scripts that read tables request pandas as `azureml-dataprep[pandas]` or `azureml-dataset-runtime[pandas]`:
    Footplate replaces the package, but pandas is still needed.
    """
    wanted = list[str]()
    for line in lines:
        if not is_azureml(line):
            wanted.append(line)
            continue
        say(f"{line}: not installed, Footplate provides the azureml names itself")
        if with_pandas := _PANDAS.match(line):
            wanted.append(f"pandas{with_pandas['marker'] or ''}")
    return wanted


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
        found = _EGG.search(line) or _WHEEL.fullmatch(file) or _ARCHIVE.fullmatch(file)
    else:
        found = _NAME.match(line)
    return normalize(found.group(1)) if found else None


def _is_place(line: str) -> bool:
    head = re.split(r"[;\s@]", line, maxsplit=1)[0]
    return "/" in head or head.endswith((".whl", ".tar.gz", ".zip"))


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def is_option(line: str) -> bool:
    return line.startswith("-")


def names_local_files(lines: Sequence[str]) -> bool:
    """Whether the meaning of the lines can change while the lines stay the same."""
    return any(_LOCAL.match(line) or _FILE.match(line) for line in lines)
