"""Loaders of scikit-learn and ONNX. The other frameworks are tested in tests/frameworks, in their own environments."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from footplate.serving.worker.loaders import CannotLoad, load_model
from footplate.serving.worker.messages import ScoreRequest
from footplate.serving.worker.model_scorer import ModelScorer
from footplate.serving.worker.payloads import READERS

X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], "float32"), [0, 0, 1, 1]


def write_onnx(path: Path) -> None:
    model: Any = to_onnx(LogisticRegression().fit(X, Y), X[:1])
    path.write_bytes(model.SerializeToString())


def test_an_onnx_model_gives_the_results_of_the_original(tmp_path: Path) -> None:
    original = LogisticRegression().fit(X, Y)
    model: Any = to_onnx(original, X[:1], options={"zipmap": False})
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    loaded = load_model(str(tmp_path), "Onnx", {})
    assert (loaded.inputs[0].dtype, loaded.inputs[0].shape, loaded.batches) == ("float32", (None, 2), True)
    results = loaded.run({loaded.inputs[0].name: X}, "predict")
    labels, probabilities = results.values()
    assert labels.tolist() == original.predict(X).tolist()
    assert np.allclose(probabilities, original.predict_proba(X), atol=1e-5)


def test_onnx_never_replaces_the_gpu_by_the_cpu(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m.onnx")
    with pytest.raises(CannotLoad, match=r"uses only the CPU here\nhint: add onnxruntime-gpu"):
        load_model(str(tmp_path), "Onnx", {"gpus": 1})


def test_rows_of_text_and_numbers_keep_their_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]})
    encode = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    model = make_pipeline(encode, LinearRegression()).fit(frame, [1.0, 2.0, 3.0])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    scorer = ModelScorer(load_model(str(tmp_path), "ScikitLearn", {}), READERS)
    (answer,) = scorer.answer([ScoreRequest(json.dumps({"data": [["blue", 2.0], ["red", 1]]}).encode())])
    assert np.allclose(json.loads(answer.body)["predict"], [2.0, 1.0]), answer


def test_probabilities_in_dictionaries_become_an_array(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m.onnx")
    loaded = load_model(str(tmp_path / "m.onnx"), None, {})
    _, probabilities = loaded.run({loaded.inputs[0].name: X}, "predict").values()
    assert probabilities.shape == (4, 2)


def test_columns_by_name_reach_an_estimator_that_was_fitted_with_them(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(LinearRegression().fit(frame, Y)))
    loaded = load_model(str(tmp_path / "model.pkl"), "ScikitLearn", {})
    found = loaded.run({"data": np.array(X.tolist(), dtype=object)}, "predict")
    assert np.allclose(found["predict"], LinearRegression().fit(frame, Y).predict(frame))


def test_a_file_that_no_loader_knows_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"")
    with pytest.raises(CannotLoad, match="hint: give model_framework"):
        load_model(str(tmp_path), None, {})


def test_two_models_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(CannotLoad, match=r"and has a\.onnx, b\.onnx"):
        load_model(str(tmp_path), "Onnx", {})


def test_an_object_that_cannot_predict_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CannotLoad, match="a dict, which has no method predict"):
        load_model(str(tmp_path), "ScikitLearn", {})
