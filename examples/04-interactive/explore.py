"""A run without a submission: this process, or the cell of a notebook, is the run.

python explore.py
"""

from azureml.core import Experiment, Workspace

experiment = Experiment(Workspace.from_config(), "explore")

with experiment.start_logging(snapshot_directory=None) as run:
    print("this line is also in the log of the run")
    for degree in range(1, 6):
        with run.child_run(name=f"degree {degree}") as child:
            child.log("degree", degree)
            child.log("error", 1 / degree + 0.07 * degree)

best = min(run.get_children(), key=lambda child: child.get_metrics()["error"])
print("best degree:", best.get_metrics()["degree"])
