"""Train one model with PyTorch on two nodes.

footplate init
python submit.py
"""

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import PyTorchConfiguration

workspace = Workspace.from_config()
try:
    cluster = ComputeTarget(workspace, "pair")
except ComputeTargetException:
    cluster = ComputeTarget.create(workspace, "pair", AmlCompute.provisioning_configuration(max_nodes=2))
    cluster.wait_for_completion()

environment = Environment("torch")
environment.python.conda_dependencies = CondaDependencies.create(
    python_version="3.11", pip_packages=["torch==2.13.0", "numpy"]
)
config = ScriptRunConfig(
    ".",
    "train.py",
    compute_target=cluster,
    environment=environment,
    distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
)
run = Experiment(workspace, "together").submit(config)
run.wait_for_completion()

for rank in (0, 1):
    print(run.get_details_with_logs()["logFiles"][f"user_logs/std_log_process_{rank:02}.txt"], end="")
losses = run.get_metrics("loss")["loss"]
print(f"loss went from {losses[0]:.0f} to {losses[-1]:.2f}")
print("idle nodes:", cluster.get_status().serialize()["nodeStateCounts"]["idleNodeCount"])
