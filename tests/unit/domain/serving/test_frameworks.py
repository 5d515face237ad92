"""Frameworks are recognized by their name, or by the names of a model's files."""

from __future__ import annotations

import pytest

from footplate.domain.serving.frameworks import PACKAGES, SUFFIXES, served_without_code


@pytest.mark.parametrize(
    ("framework", "names", "expected"),
    [
        ("Onnx", ["weights.bin"], "Onnx"),
        (None, ["net/model.onnx"], "Onnx"),
        ("Custom", ["model.pkl"], "ScikitLearn"),
        (None, ["saved/variables/x.pkl", "saved/saved_model.pb"], "TensorFlow"),
        (None, ["weights.bin"], None),
    ],
)
def test_the_framework_of_a_model_is_found(framework: str | None, names: list[str], expected: str | None) -> None:
    assert served_without_code(framework, names) == expected


def test_every_framework_names_its_packages() -> None:
    assert set(SUFFIXES.values()) <= set(PACKAGES)
