"""Time `mlflow.log_metric` on SQLite. Arguments: calls, database, path of the results."""

import json
import sys
import time

import mlflow


def main():
    calls, database, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    mlflow.set_tracking_uri(f"sqlite:///{database}")
    figures = []
    with mlflow.start_run() as run:
        mlflow.log_metric("warm", 1.0)
        for _ in range(calls):
            begin = time.perf_counter_ns()
            mlflow.log_metric("loss", 0.5)
            figures.append(time.perf_counter_ns() - begin)
    kept = len(mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss"))
    with open(target, "w") as file:
        json.dump({"plain": figures, "kept": kept}, file)


main()
