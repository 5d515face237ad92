"""Test GPU support on a machine that has a GPU: a single-rank NCCL job, a run that has to wait, and the GPU's series.

    python3 -m venv .try
    .try/bin/pip install '.[gpu]' ./packages/azureml      (without a network: --no-index --find-links WHEELS)
    .try/bin/python scripts/try_gpu.py --python "$(command -v python3)"

`--python` is the interpreter of the jobs. With torch, they communicate through NCCL and multiply matrices; without it,
they allocate device memory through the CUDA driver. Everything is created in a temporary home. The exit code is 0 if
every check succeeded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WITH_TORCH = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
print("sees", os.environ["CUDA_VISIBLE_DEVICES"], "of", torch.cuda.device_count(), torch.cuda.get_device_name())
one = torch.ones(1024, device="cuda")
dist.all_reduce(one)
assert one.sum().item() == 1024 * dist.get_world_size()
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end, products = time.monotonic() + {seconds}, 0
while time.monotonic() < end:
    for _ in range(20):
        b = a @ a
    torch.cuda.synchronize()
    products += 20
print("products", products)
dist.destroy_process_group()
"""
WITHOUT_TORCH = """
import ctypes, os, time
cuda = ctypes.CDLL("libcuda.so.1")
def check(code):
    assert code == 0, f"CUDA error {{code}}"
check(cuda.cuInit(0))
count, device, context, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuDeviceGetCount(ctypes.byref(count)))
print("sees", os.environ["CUDA_VISIBLE_DEVICES"], "of", count.value)
check(cuda.cuDeviceGet(ctypes.byref(device), 0))
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device))
check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 30)))
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    check(cuda.cuMemsetD32_v2(memory, 1, ctypes.c_size_t(1 << 28)))
    check(cuda.cuCtxSynchronize())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the jobs")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long each job keeps the GPU busy")
    options = parser.parse_args()
    probe = subprocess.run([options.python, "-c", "import torch"], check=False, capture_output=True)
    has_torch = probe.returncode == 0
    with tempfile.TemporaryDirectory(prefix="try", dir="/tmp") as folder:
        os.environ["FOOTPLATE_HOME"] = str(Path(folder) / "home")
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        try:
            attempt(Path(folder), options.python, has_torch, options.seconds)
        finally:
            subprocess.run([str(Path(sys.executable).parent / "footplate"), "server", "stop"], check=False)
    print("all seen")


def attempt(folder: Path, python: str, has_torch: bool, seconds: float) -> None:
    from footplate import Experiment, Workspace  # noqa: PLC0415  # after FOOTPLATE_HOME is set

    source = folder / "source"
    source.mkdir()
    (source / "job.py").write_text((WITH_TORCH if has_torch else WITHOUT_TORCH).format(seconds=seconds))
    workspace = Workspace.create("try-gpu", exist_ok=True)
    experiment = Experiment(workspace, "gpu")
    first = experiment.submit(configuration(source, python, has_torch, None))
    wait_for(first, "Running")
    (node,) = first._refresh().nodes
    devices: list[dict[str, Any]] = node.info["gpu_devices"]
    print(f"{node.host}: {len(devices)} GPUs: " + ", ".join(f"{d['name']} {d['memory'] >> 20} MiB" for d in devices))
    assert node.gpus is not None
    assert len(node.gpus) == 1, node
    second = experiment.submit(configuration(source, python, has_torch, len(devices)))
    reason = waiting_words(second)
    print(f"while the first run is active, the second waits: {reason}")
    for run in (first, second):
        run.wait_for_completion()
        log = folder / "log.txt"
        run.download_file("user_logs/std_log.txt", str(log))
        print(f"--- {run.id}: {run.get_status()}\n{log.read_text().rstrip()}")
        show_curves(run)
    assert started(second) >= ended(first), "the second run started before the first had ended"


def configuration(source: Path, python: str, has_torch: bool, gpus: int | None) -> Any:
    """Request one GPU through NCCL, or the given number of GPUs exclusively."""
    from footplate import Environment, PyTorchConfiguration, ScriptRunConfig  # noqa: PLC0415  # as above

    environment = Environment("jobs")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = python
    job = PyTorchConfiguration("Nccl", 1) if has_torch else None
    made = ScriptRunConfig(str(source), "job.py", environment=environment, distributed_job_config=job)
    made.run_config.gpus = gpus if has_torch else (gpus or 1)
    return made


def wait_for(run: Any, status: str) -> None:
    end = time.monotonic() + 120
    while run.get_status() != status:
        assert run.get_status() not in ("Failed", "Canceled", "Completed"), run.get_details()
        assert time.monotonic() < end, run.get_detailed_status()
        time.sleep(0.1)


def waiting_words(run: Any) -> str:
    end = time.monotonic() + 60
    while "GPU" not in (words := run.get_detailed_status()["details"]):
        assert time.monotonic() < end, f"the run does not wait: {run.get_detailed_status()}"
        time.sleep(0.1)
    return words


def show_curves(run: Any) -> None:
    series = run._session.api.metrics.read(run.id, system=True)[run.id]
    curves = [each for each in series if "/gpu_" in each.name]
    assert curves, "there are no GPU series"
    for each in curves:
        values = [point[2] for point in each.points]
        mean = sum(values) / len(values)
        print(f"{each.name}: {len(values)} points, least {min(values):g}, mean {mean:g}, most {max(values):g}")
    busiest = max(point[2] for each in curves if each.name.endswith("_percent") for point in each.points)
    assert busiest > 0, "the GPU was never busy"


def started(run: Any) -> float:
    return next(line.time for line in run.story() if line.event == "NodeStarted")


def ended(run: Any) -> float:
    return next(line.time for line in run.story() if line.event == "NodeExited")


if __name__ == "__main__":
    main()
