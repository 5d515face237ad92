"""Frameworks are recognized by their name, or by the names of a model's files."""

from __future__ import annotations

import pytest

from footplate.domain.serving.frameworks import PACKAGES, SUFFIXES, packages_for, served_without_code


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


def test_gpus_ask_for_the_builds_that_use_them() -> None:
    assert packages_for("Onnx", gpus=0) == ("onnxruntime", "numpy")
    assert packages_for("Onnx", gpus=1) == ("onnxruntime-gpu[cuda,cudnn]", "numpy")
    assert packages_for("PyTorch", gpus=1) == packages_for("PyTorch", gpus=0)
    assert packages_for("Custom", gpus=1) == ()
