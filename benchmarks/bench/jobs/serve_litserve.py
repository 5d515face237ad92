"""LitServe with one of the models and its batching: `serve_litserve.py network|trees FOLDER PORT`."""

from __future__ import annotations

import sys
from typing import Any

import litserve
import numpy as np


class ModelApi(litserve.LitAPI):
    """One row per request; batches are joined and split as LitServe's documentation does it."""

    def setup(self, device: str) -> None:
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

    def decode_request(self, request):  # without types: FastAPI would read them  # type: ignore[no-untyped-def]
        return np.asarray(request["data"][0])

    def batch(self, inputs: Any) -> Any:
        return np.stack(inputs)

    def predict(self, x: Any, **_: Any) -> Any:
        return self.score(x)

    def unbatch(self, output: Any) -> Any:
        return list(output)

    def encode_response(self, output: Any, **_: Any) -> Any:
        return {"predict": [output.tolist()]}


if __name__ == "__main__":
    api = ModelApi(max_batch_size=32, batch_timeout=float(sys.argv[4]))
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(sys.argv[3]), generate_client_file=False, log_level="error")
