"""Train, register the model, and download it: the whole loop.

python submit.py --learning-rate 0.5
"""

import sys
import tempfile
from pathlib import Path

from azureml.core import Experiment, Model, ScriptRunConfig, Workspace

workspace = Workspace.from_config()
experiment = Experiment(workspace, "logistic-regression")

config = ScriptRunConfig(Path(__file__).parent, script="train.py", arguments=sys.argv[1:])
run = experiment.submit(config, tags={"lesson": "register-model"})
run.wait_for_completion(show_output=True)

reached = run.get_metrics()["final accuracy"]
model = run.register_model("cloud-classifier", "outputs/model.json", tags={"accuracy": f"{reached:.3f}"})
print(f"registered {model.name}, version {model.version}, made by run {model.run_id}")

with tempfile.TemporaryDirectory() as folder:
    path = Model(workspace, "cloud-classifier").download(folder)
    print("downloaded:", Path(path).read_text())
