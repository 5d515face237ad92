"""Log values of every kind. Outside a run, the same calls only print them."""

import math

from azureml.core import Run

run = Run.get_context()

for step in range(50):
    loss = math.exp(-step / 15) + 0.02 * math.sin(step)
    run.log("loss", loss)  # a series: one value each time

run.log("epochs", 50)  # logged once: a single value
run.log("optimizer", "sgd")
run.log_list("layer sizes", [784, 128, 10])
for fold in range(3):
    run.log_row("folds", fold=fold, accuracy=0.9 + fold / 100)
run.log_table("classes", {"label": ["cat", "dog"], "count": [120, 80]})
run.tag("lesson", "metrics")
