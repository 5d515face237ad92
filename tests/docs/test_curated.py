"""The record of `make curated`, and the page about it, agree with the catalogue of curated environments."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from footplate.environments import curated
from footplate.environments.curated import Curated
from footplate.environments.requirements import is_azureml, normalize

SCRIPT = Path(__file__).parents[2] / "scripts" / "curated.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("curated_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = load()
RECORD: dict[str, Any] = script.read_record()
BUILT = [entry for entry in curated.every() if entry.name in RECORD]


def test_the_page_shows_the_record_and_the_catalogue() -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(RECORD), "run: make curated"


def test_every_result_belongs_to_an_entry() -> None:
    assert set(RECORD) <= {entry.name for entry in curated.every()}


@pytest.mark.parametrize("entry", BUILT, ids=lambda entry: entry.name)
def test_entry_worked_as_it_is_defined_now(entry: Curated) -> None:
    result = RECORD[entry.name]
    assert not result.error
    assert result.definition == script.fingerprint(entry), f"run: make curated CURATED_ARGS={entry.name}"
    assert result.imports or result.refused
    assert not result.same_as or RECORD[result.same_as].python == result.python


@pytest.mark.parametrize("entry", [one for one in BUILT if not RECORD[one.name].refused], ids=lambda entry: entry.name)
def test_entry_has_the_versions_that_it_names(entry: Curated) -> None:
    pins = RECORD[entry.name].pins
    for line in entry.requirements:
        wanted = Requirement(line)
        found = pins.get(normalize(wanted.name))
        if found is not None and wanted.name == "tensorflow" and str(wanted.specifier).startswith("==1."):
            assert found.startswith("2.4.") and "with the API of version 1" in script.deviations(entry), line
        elif found is not None:
            assert wanted.specifier.contains(found.split("+")[0], prereleases=True), line
        else:  # replaced by Footplate, or by the build for CPUs
            assert is_azureml(line) or normalize(wanted.name) in ("tensorflow-gpu", "onnxruntime-gpu"), line


def test_every_entry_names_one_that_exists_for_failures() -> None:
    for entry in curated.every():
        instead = entry.nearest or entry.similar
        assert entry in curated.tested.ALL or (instead and curated.find(instead)), entry.name
