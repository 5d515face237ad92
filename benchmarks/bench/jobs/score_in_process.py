"""Measure a model in process: `score_in_process.py network|trees FOLDER SECONDS`, one row at a time, arrays in and out.

The latencies go to stdout as JSON. There is no JSON and no HTTP in them: the least that any server could need.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def loaded(name: str, folder: Path) -> tuple[Any, Any]:
    """Return a function that scores one row, and the rows."""
    inputs = np.asarray(json.loads((folder / f"{name}.json").read_text())["inputs"])
    if name == "network":
        import onnxruntime  # noqa: PLC0415  # one of the two is needed

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "network.onnx"), options)
        return lambda row: session.run(None, {"x": row}), inputs.astype(np.float32)
    import lightgbm  # noqa: PLC0415  # likewise

    booster = lightgbm.Booster(model_file=str(folder / "trees.txt"))
    return lambda row: booster.predict(row, num_threads=1), inputs


def main() -> None:
    score, inputs = loaded(sys.argv[1], Path(sys.argv[2]))
    latencies: list[float] = []
    end = time.perf_counter() + float(sys.argv[3])
    while time.perf_counter() < end:
        row = inputs[len(latencies) % len(inputs) :][:1]
        begin = time.perf_counter()
        score(row)
        latencies.append(time.perf_counter() - begin)
    print(json.dumps(latencies))


if __name__ == "__main__":
    main()
