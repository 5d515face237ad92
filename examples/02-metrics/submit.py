"""Submit train.py and read its metrics.

python submit.py          the same without Python: footplate run --wait train.py && footplate runs metrics latest
"""

from pathlib import Path

from azureml.core import Experiment, ScriptRunConfig, Workspace

experiment = Experiment(Workspace.from_config(), "metrics")
run = experiment.submit(ScriptRunConfig(Path(__file__).parent, script="train.py"))
run.wait_for_completion()

metrics = run.get_metrics()
print("loss went from", round(metrics["loss"][0], 3), "to", round(metrics["loss"][-1], 3))
print("logged once: ", metrics["epochs"], metrics["optimizer"])
print("a list:      ", metrics["layer sizes"])
print("rows:        ", metrics["folds"])
print("a table:     ", metrics["classes"])
