"""Make the two models of the serving benchmarks, and their inputs with expected outputs, in a folder.

The network has 784, 300, 100 and 10 units; its inputs are like MNIST's: 19 % of the pixels are not 0. The other model
has 100 boosted trees over 30 columns.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightgbm
import mlflow.lightgbm
import mlflow.onnx
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

INPUTS = 16
ONE_THREAD = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}


def network(random: np.random.Generator) -> Any:
    nodes: list[Any] = []
    weights: list[Any] = []
    sizes, last = (784, 300, 100, 10), "x"
    for number, (size, width) in enumerate(pairwise(sizes)):
        matrix = random.normal(0, size**-0.5, (size, width)).astype(np.float32)
        weights += [numpy_helper.from_array(matrix, f"w{number}"),
                    numpy_helper.from_array(np.zeros(width, np.float32), f"b{number}")]  # fmt: skip
        nodes.append(helper.make_node("Gemm", [last, f"w{number}", f"b{number}"], [f"h{number}"]))
        last = f"h{number}"
        if number < 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{number}"]))
            last = f"r{number}"
    nodes.append(helper.make_node("Softmax", [last], ["y"]))
    graph = helper.make_graph(
        nodes, "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 784])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 10])],
        weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main(folder: Path) -> None:
    random = np.random.default_rng(7)
    made = network(random)
    onnx.save(made, str(folder / "network.onnx"))
    mlflow.onnx.save_model(made, str(folder / "mlflow-network"), onnx_session_options=ONE_THREAD)
    pixels = random.integers(1, 256, (INPUTS, 784)) * (random.random((INPUTS, 784)) < 0.19) / 255
    session = onnxruntime.InferenceSession(str(folder / "network.onnx"))
    expected = session.run(None, {"x": pixels.astype(np.float32)})[0]
    describe(folder / "network.json", pixels, expected)

    x = random.normal(size=(5000, 30))
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int)
    options = {"objective": "binary", "num_leaves": 31, "verbose": -1, "num_threads": 1, "seed": 7}
    booster = lightgbm.train(options, lightgbm.Dataset(x, y), 100)
    booster.save_model(str(folder / "trees.txt"))
    mlflow.lightgbm.save_model(booster, str(folder / "mlflow-trees"))
    describe(folder / "trees.json", x[:INPUTS].round(6), booster.predict(x[:INPUTS].round(6)))


def describe(path: Path, inputs: Any, outputs: Any) -> None:
    path.write_text(json.dumps({"inputs": inputs.tolist(), "outputs": np.asarray(outputs).tolist()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
