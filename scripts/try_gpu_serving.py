"""Test serving on a GPU: deploy ONNX models on the GPU and on the CPU, compare their results, and print throughput.

    python3 -m venv .try
    .try/bin/pip install . ./packages/azureml onnx 'onnxruntime-gpu[cuda,cudnn]'
    .try/bin/python scripts/try_gpu_serving.py [--json FILE]

The services run in the interpreter of this script. Everything is created in a temporary home. The exit code is 0 if
every result of the GPU equals that of the CPU within the error of its arithmetic.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

NETWORKS = {"small": (784, 300, 100, 10), "large": (1024, 4096, 4096, 1000)}
BATCHES = (1, 32, 256, 2048)
SECONDS = 3.0
TOLERANCE = 5e-3
"""The GPU multiplies with the 10-bit mantissa of TF32: relative to the largest output, this is its rounding error."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--without-gpu", action="store_true", help="only try the script itself, on the CPU")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="try", dir="/tmp") as folder:
        os.environ["FOOTPLATE_HOME"] = str(Path(folder) / "home")
        try:
            rows = attempt(Path(folder), () if options.without_gpu else (1,))
        finally:
            subprocess.run([str(Path(sys.executable).parent / "footplate"), "server", "stop"], check=False)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print("all results agree")


def attempt(folder: Path, gpus: tuple[int, ...]) -> list[dict[str, Any]]:
    from footplate import Workspace  # noqa: PLC0415  # after FOOTPLATE_HOME is set

    workspace = Workspace.create("try-gpu-serving", exist_ok=True)
    rows: list[dict[str, Any]] = []
    for name, sizes in NETWORKS.items():
        path = folder / f"{name}.onnx"
        onnx.save(network(sizes), str(path))
        reference = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for count in (0, *gpus):
            service = deploy(workspace, name, path, count)
            for batch in BATCHES:
                rows.append(measure(service, name, batch, reference))
                print("{network:6} {device} batch {batch:5}: {rows_per_second:12,.0f} rows/s  "
                      "p50 {p50_ms:8.2f} ms  error {error:.1e}".format(**rows[-1]), flush=True)  # fmt: skip
            service.delete()
    return rows


def network(sizes: tuple[int, ...]) -> onnx.ModelProto:
    """Make a network of fully connected layers with random weights."""
    random = np.random.default_rng(7)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    last = "x"
    for index, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        matrix = (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype("float32")
        weights.append(numpy_helper.from_array(matrix, f"w{index}"))
        is_last = index == len(sizes) - 2
        product = "y" if is_last else f"m{index}"
        nodes.append(helper.make_node("MatMul", [last, f"w{index}"], [product]))
        if not is_last:
            nodes.append(helper.make_node("Relu", [product], [f"h{index}"]))
            last = f"h{index}"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, sizes[0]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, sizes[-1]])
    graph = helper.make_graph(nodes, "network", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def deploy(workspace: Any, name: str, path: Path, gpus: int) -> Any:
    from footplate import Model  # noqa: PLC0415  # as above
    from footplate.sdk.models.resource_configuration import ResourceConfiguration  # noqa: PLC0415  # as above

    resources = ResourceConfiguration(cpu=4, memory_in_gb=16, gpu=gpus)
    name = f"{name}-{'GPU' if gpus else 'CPU'}"
    model = Model.register(workspace, str(path), name, model_framework="Onnx", resource_configuration=resources)
    begun = time.monotonic()
    service = Model.deploy(workspace, name.lower(), [model])
    service.wait_for_deployment()
    assert service.state == "Healthy", service.get_logs()
    print(f"{service.name} is healthy after {time.monotonic() - begun:.1f} s", flush=True)
    return service


def measure(service: Any, name: str, batch: int, reference: ort.InferenceSession) -> dict[str, Any]:
    """Send batches one after another with the Open Inference Protocol, and compare the results with the reference."""
    data = np.random.default_rng(batch).standard_normal((batch, NETWORKS[name][0])).astype("float32")
    expected: np.ndarray[Any, Any] = np.asarray(reference.run(None, {"x": data})[0])
    device = service.name.rpartition("-")[2].upper()
    target = urlsplit(service.scoring_uri)
    connection = http.client.HTTPConnection(target.netloc, timeout=60)
    path = target.path.removesuffix("/score") + f"/v2/models/{name}-{device}/infer"
    found = infer(connection, path, data)
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error < TOLERANCE, f"{name} on the {device} with {batch} rows differs by {error}"
    times: list[float] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        begun = time.perf_counter()
        infer(connection, path, data)
        times.append(time.perf_counter() - begun)
    connection.close()
    return {"network": name, "device": device, "batch": batch, "rows_per_second": batch * len(times) / sum(times),
            "p50_ms": sorted(times)[len(times) // 2] * 1000, "error": error}  # fmt: skip


def infer(connection: http.client.HTTPConnection, path: str, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raw = data.tobytes()
    described = {"name": "x", "shape": list(data.shape), "datatype": "FP32",
                 "parameters": {"binary_data_size": len(raw)}}  # fmt: skip
    head = json.dumps({"inputs": [described], "parameters": {"binary_data_output": True}}).encode()
    connection.request("POST", path, head + raw, {"Inference-Header-Content-Length": str(len(head))})
    reply = connection.getresponse()
    body = reply.read()
    assert reply.status == 200, body[:500]
    length = int(reply.headers["Inference-Header-Content-Length"])
    (output,) = json.loads(body[:length])["outputs"]
    return np.frombuffer(body[length:], "float32").reshape(output["shape"])


if __name__ == "__main__":
    main()
