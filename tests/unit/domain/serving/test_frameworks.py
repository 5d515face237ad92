"""Frameworks are recognized by their name, or by the names of a model's files."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from footplate.domain.serving.frameworks import FRAMEWORKS, codeless_framework, packages_for


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
    assert codeless_framework(framework, names) == expected


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_framework_has_packages_and_a_loader(name: str) -> None:
    assert FRAMEWORKS[name].packages
    assert find_spec(f"footplate.serving.worker.loaders.{FRAMEWORKS[name].loader}") is not None


def test_gpus_ask_for_the_builds_that_use_them() -> None:
    on_cpu, on_gpu = packages_for("Onnx", gpus=0), packages_for("Onnx", gpus=1)
    assert (on_cpu[0], on_gpu[0]) == ("onnxruntime", "onnxruntime-gpu[cuda,cudnn]")
    assert on_cpu[1:] == on_gpu[1:]
    assert packages_for("PyTorch", gpus=1) == packages_for("PyTorch", gpus=0)
    assert packages_for("Custom", gpus=1) == ()
