"""Machine sizes by name."""

from __future__ import annotations

import pytest

from footplate.domain.shapes import Shape, describe, lacks, names, shape_of


@pytest.mark.parametrize("name", ["STANDARD_NC6", "Standard_NC6", "standard-nc6"])
def test_a_name_is_found_in_any_spelling(name: str) -> None:
    assert shape_of(name) == Shape(6, 56, 1)


def test_an_unknown_name_requests_nothing() -> None:
    assert shape_of("MY_OWN_BOX") is None
    assert shape_of("") is None


def test_a_shape_can_be_described() -> None:
    assert describe(Shape(6, 56, 1)) == "6 cores, 56 GiB, 1 GPU"
    assert describe(Shape(1, 3.5)) == "1 core, 3.5 GiB"


def test_missing_resources_are_listed() -> None:
    laptop = Shape(4, 15.4)
    assert lacks(Shape(6, 56, 1), laptop) == [
        "1 GPU (it has none)", "6 cores (it has 4)", "56 GiB of memory (it has 15)",
    ]  # fmt: skip
    assert lacks(Shape(4, 16), laptop) == []


@pytest.mark.parametrize("name", names())
def test_every_size_is_a_plausible_machine(name: str) -> None:
    shape = shape_of(name)
    assert shape is not None
    assert shape.cpus >= 1
    assert shape.memory >= 1
    assert (shape.gpus > 0) == name.startswith(("STANDARD_NC", "STANDARD_ND", "STANDARD_NV"))
