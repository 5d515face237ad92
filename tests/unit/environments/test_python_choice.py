"""The Python of an environment whose file requests none, or that of Azure's template."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.environments import pythons


@pytest.mark.parametrize(
    ("asked", "ours"),
    [(None, True), ("3.8.13", True), ("==3.10.18.*", True), ("3.8", False), ("3.8.12", False), (">=3.8", False)],
)
def test_versions_of_templates_are_our_choice(asked: str | None, ours: bool) -> None:
    assert pythons.is_our_choice(asked) == ours


def test_a_templates_python_stands_for_its_minor_version(tmp_path: Path) -> None:
    assert pythons.choose("3.10.18", list) == (3, 10)
    assert pythons.choose("3.10.17", list) == (3, 10, 17)
