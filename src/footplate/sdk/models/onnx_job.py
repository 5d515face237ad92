"""`python -m footplate.sdk.models.onnx_job NAME:VERSION FRAMEWORK`: convert a model to ONNX, as a job.

`sample.json` in its folder holds the sample; the result is `outputs/NAME.onnx`. A process of its own loads the model,
as a worker of a service does, converts it and compares both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict

from footplate.sdk.models.model import Model
from footplate.sdk.models.onnx_conversion import RESULT, SAMPLE
from footplate.sdk.run import Run


def main(model_id: str, framework: str) -> None:
    name, _, version = model_id.rpartition(":")
    with open(SAMPLE, encoding="utf-8") as file:
        sample = json.load(file)
    os.makedirs("outputs", exist_ok=True)
    path = Model.get_model_path(name, version=int(version))
    report = convert({"path": path, "framework": framework, "sample": sample, "target": RESULT.format(name)})
    if "error" in report:
        sys.exit(f"{model_id}: {report['error']}")
    Run.get_context().log("largest_difference", report["largest_difference"])
    print(f"{model_id} is converted; the largest difference on {report['rows']} rows is "
          f"{report['largest_difference']:g}")  # fmt: skip


def convert(job: Dict[str, Any]) -> Dict[str, Any]:
    """Run the conversion and return its report."""
    with tempfile.TemporaryDirectory() as folder:
        request, report = os.path.join(folder, "job.json"), os.path.join(folder, "report.json")
        with open(request, "w", encoding="utf-8") as file:
            json.dump(dict(job, report=report), file)
        command = [sys.executable, "-m", "footplate.serving.worker.onnx_conversion", request]
        code = subprocess.run(command, check=False).returncode
        try:
            with open(report, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {"error": f"the conversion ended with exit code {code}\nhint: see the log of the run"}


if __name__ == "__main__":
    main(*sys.argv[1:])
