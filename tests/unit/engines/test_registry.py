from __future__ import annotations

import pytest

from footplate.engines import EngineRegistry
from footplate.engines.local import LocalEngine
from footplate.errors import InvalidInput


def test_a_name_always_gives_the_same_engine() -> None:
    registry = EngineRegistry()
    assert isinstance(registry.load("local"), LocalEngine)
    assert registry.load("local") is registry.load("local")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'slrum'") as refused:
        EngineRegistry({"mine": "somewhere:Mine"}).load("slrum")
    assert refused.value.hint == "the engines are local, mine, ray, slurm"


def test_settings_add_engines() -> None:
    added = EngineRegistry({"mine": "footplate.engines.local:LocalEngine"}).load("mine")
    assert isinstance(added, LocalEngine)


@pytest.mark.parametrize(
    "path", ["no.such.module:Engine", "footplate.engines.local:Nothing", "footplate.engines.local"]
)
def test_an_engine_that_cannot_be_imported_names_its_path(path: str) -> None:
    with pytest.raises(InvalidInput, match=path) as refused:
        EngineRegistry({"mine": path}).load("mine")
    assert "settings.ini" in str(refused.value.hint)
