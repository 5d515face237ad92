"""Packages that Azure's own packages brought along, by release: scripts import them without naming them.

Footplate replaces `azureml-core` and its siblings, so their dependencies would be missing: numpy and pyarrow of
`azureml-dataset-runtime`, mlflow of `azureml-mlflow`, and others. The tables hold the published requirements (PyPI) of
packages that scripts use. Packages that only Azure's own code uses (azure-mgmt-*, msrest, gunicorn) are not listed, and
neither are lower bounds: a newer Python needs newer versions than an old release asks for.

All are soft requirements: `pins` drops them where the user's own lines exclude them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Mapping, Tuple

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from footplate.domain.locks import MLFLOW
from footplate.environments.requirements import is_azureml, normalize

NEWEST = 62
"""The last minor version of the SDK, 1.62."""

Table = Mapping[int, Tuple[str, ...]]
"""First minor version of a period → requirements."""

_CORE: Table = {
    0: ("requests", "python-dateutil", "pytz", "jsonpickle", "ruamel.yaml"),
    27: ("requests<3", "python-dateutil<3", "pytz", "jsonpickle<3", "ruamel.yaml<1"),
    36: ("requests<3", "python-dateutil<3", "pytz", "jsonpickle<3"),
    50: ("requests<3", "python-dateutil<3", "pytz", "jsonpickle<4"),
    59: ("requests<3", "python-dateutil<3", "pytz", "jsonpickle<5"),
}
_READERS = ("cloudpickle", "pyyaml", "jsonschema")
_DATASET: Table = {
    0: _READERS,
    10: (*_READERS, "pyarrow"),
    11: (*_READERS, "pyarrow<1"),
    12: (*_READERS, "pyarrow<2"),
    19: (*_READERS, "pyarrow<2", "numpy!=1.19.3"),
    28: (*_READERS, "pyarrow<4", "numpy!=1.19.3"),
    44: (*_READERS, "pyarrow<6.0.1", "numpy!=1.19.3"),
    46: (*_READERS, "pyarrow<=9.0.0", "numpy!=1.19.3"),
    49: (*_READERS, "pyarrow<=9.0.0", "numpy<1.24"),
    52: (*_READERS, "pyarrow<=11.0.0", "numpy<1.24"),
    54: (*_READERS, "pyarrow", "numpy<1.24"),
    61: (*_READERS, "pyarrow<21", "numpy<2.3.3"),
    62: (*_READERS, "pyarrow<24", "numpy<2.3.3"),
}
_PANDAS: Table = {0: ("numpy", "pandas", "pyarrow"), 11: ("numpy<2", "pandas<2")}
_CLOUD = ("azure-identity", "azure-storage-blob>=12.5")
_MLFLOW_NOW = ("mlflow-skinny", 'skops<1 ; python_version >= "3.10"')
"""Since 3.14, which requires Python 3.10, MLflow saves models of scikit-learn with skops; mlflow-skinny omits it."""

_MLFLOW: Table = {
    0: ("mlflow>=1.0",),
    29: _MLFLOW_NOW,
    43: (*_MLFLOW_NOW, *_CLOUD),
    58: ("mlflow-skinny<=2.15.1", *_CLOUD),
    60: ("mlflow-skinny<3", *_CLOUD),
    61: ("mlflow-skinny<=3.5.0", *_CLOUD),
    62: ("mlflow-skinny<=3.15.0", _MLFLOW_NOW[1], *_CLOUD),
}

# package → tables of the packages that it brings, its siblings' included
_TABLES: Mapping[str, tuple[Table, ...]] = {
    "azureml-core": (_CORE,),
    "azureml-defaults": (_CORE, _DATASET),
    "azureml-sdk": (_CORE, _DATASET),
    "azureml-train": (_CORE,),
    "azureml-train-core": (_CORE,),
    "azureml-train-automl-client": (_CORE, _DATASET),
    "azureml-pipeline": (_CORE,),
    "azureml-pipeline-core": (_CORE,),
    "azureml-pipeline-steps": (_CORE,),
    "azureml-dataset-runtime": (_DATASET,),
    "azureml-dataprep": ({0: _READERS},),
    MLFLOW: (_CORE, _MLFLOW),
    "azureml-opendatasets": (_CORE, _DATASET, _PANDAS, {0: ("scipy",)}),
    "azureml-interpret": (_CORE, {0: ("interpret-community", "scikit-learn", "pandas", "numpy")}),
    "azureml-explain-model": (_CORE, {0: ("interpret-community", "scikit-learn", "pandas", "numpy")}),
    "azureml-tensorboard": (_CORE, {0: ("tensorboard",)}),
    "azureml-widgets": (_CORE, {0: ("ipywidgets",)}),
    "azureml-inference-server-http": ({0: ("flask", "inference-schema")},),
    "azureml-contrib-services": ({0: ("flask",)},),
}
_EXTRAS: Mapping[str, Table] = {"pandas": _PANDAS, "scipy": {0: ("scipy",)}, "parquet": {0: ("pyarrow",)}}
_OWN_NUMBERS = ("azureml-dataprep", "azureml-inference-server-http")
"""Packages whose versions are not those of the SDK."""


def find_dependencies(lines: Iterable[str]) -> list[str]:
    """Return the requirements that the azureml packages among the lines brought, in their releases."""
    dependencies: dict[str, None] = {}
    all_wanted = list(_azureml(lines))
    pinned = _pinned_release(all_wanted)
    for requirement in all_wanted:
        name = normalize(requirement.name)
        release = NEWEST if name in _OWN_NUMBERS else _release(requirement.specifier, pinned)
        tables = [*_TABLES.get(name, ()), *(_EXTRAS[extra] for extra in requirement.extras if extra in _EXTRAS)]
        for table in tables:
            dependencies.update((_limit(line, requirement.marker), None) for line in _at(table, release))
    return list(dependencies)


def versions(lines: Iterable[str]) -> dict[str, str]:
    """Return name → version of the azureml packages that are pinned: `importlib.metadata` reports these.

    `azureml-mlflow` is among them without a pin, too: a job whose environment requires it gets MLflow's variables.
    """
    numbers: dict[str, str] = {}
    all_wanted = list(_azureml(lines))
    pinned = _pinned_release(all_wanted)
    for one in all_wanted:
        name, version = normalize(one.name), _exact(one.specifier)
        if version is not None:
            numbers[name] = str(version)
        elif name == MLFLOW:
            numbers[name] = f"1.{_release(one.specifier, pinned)}.0"
    return numbers


def _limit(line: str, marker: Marker | None) -> str:
    """Add a marker to a requirement that may have one of its own."""
    package, _, own = line.partition(" ; ")
    both = f"({own}) and ({marker})" if own and marker else own or marker
    return f"{package} ; {both}" if both else package


def _azureml(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        if is_azureml(line):
            try:
                yield Requirement(line)
            except InvalidRequirement:
                continue  # an address: its release is unknown


def _exact(bounds: SpecifierSet) -> Version | None:
    """Return the version that `==1.53.0` or `~=1.53.0` names; None for other bounds."""
    for bound in bounds:
        if bound.operator in ("==", "~=") and re.fullmatch(r"\d+(\.\d+)+(\.post\d+)?", bound.version):
            return Version(bound.version)
    return None


def _pinned_release(all_wanted: Iterable[Requirement]) -> int | None:
    """Return the release that a line pins: packages of the SDK require each other in the same release."""
    exact = [_exact(one.specifier) for one in all_wanted if normalize(one.name) not in _OWN_NUMBERS]
    return next((_release(SpecifierSet(f"=={version}"), None) for version in exact if version is not None), None)


def _release(bounds: SpecifierSet, pinned: int | None) -> int:
    """Return the minor version of the release that another line pins, or else of the newest one within the bounds."""
    exact = _exact(bounds)
    if exact is not None:
        return exact.minor if exact.major == 1 else 0
    if pinned is not None and bounds.contains(f"1.{pinned}.0"):
        return pinned
    within = [minor for minor in range(NEWEST + 1) if bounds.contains(f"1.{minor}.0")]
    return max(within, default=NEWEST)


def _at(table: Table, release: int) -> tuple[str, ...]:
    return table[max(first for first in table if first <= release)]
