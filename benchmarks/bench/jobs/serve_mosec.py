"""mosec with one of the models and its batching: `serve_mosec.py network|trees FOLDER --port PORT`."""

from __future__ import annotations

import sys
from typing import Any

import mosec
import numpy as np


class ModelWorker(mosec.Worker):
    """One row per request; mosec parses the JSON of each and joins them to a list, as its documentation does it."""

    def __init__(self) -> None:
        if sys.argv[1] == "network":
            import onnxruntime  # noqa: PLC0415  # one of the two is needed

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = onnxruntime.InferenceSession(f"{sys.argv[2]}/network.onnx", options)
            self.score = lambda rows: session.run(None, {"x": rows.astype(np.float32)})[0]
        else:
            import lightgbm  # noqa: PLC0415  # likewise

            booster = lightgbm.Booster(model_file=f"{sys.argv[2]}/trees.txt")
            self.score = lambda rows: booster.predict(rows, num_threads=1)

    def forward(self, data: Any) -> Any:
        rows = np.asarray([request["data"][0] for request in data])
        return [{"predict": [output.tolist()]} for output in self.score(rows)]


if __name__ == "__main__":
    server = mosec.Server()
    server.append_worker(ModelWorker, num=1, max_batch_size=32, max_wait_time=1)  # milliseconds; the default is 10
    server.run()
