"""Handlers of the histories of metrics: in pages, of many runs, and sampled for charts."""

from __future__ import annotations

from footplate.server.mlflow import grammar
from footplate.server.mlflow.call import Call, Json, json_number, milliseconds
from footplate.server.mlflow.errors import MlflowError

_PAGE = 25_000
_MOST_RUNS = 100
_MOST_SAMPLED = 2_500

_Point = tuple[float, float, float]


def get(call: Call) -> Json:
    run, key = call.text("run_id"), call.text("metric_key")
    call.check_run(run, active=False)
    most = call.fields.get("max_results")
    if most is not None and most <= 0:
        raise MlflowError(f"Invalid value {most} for parameter 'max_results' supplied. It must be a positive integer.")
    points = call.services.tracking.history(run, key)
    offset = grammar.parse_page_token(call.text("page_token"))
    end = len(points) if most is None else offset + min(int(most), _PAGE)
    metrics = [_metric(key, point) for point in points[offset:end]]
    return {"metrics": metrics, **({"next_page_token": grammar.page_token(end)} if end < len(points) else {})}


def get_bulk(call: Call) -> Json:
    """Return the points of many runs by run, time, step and value, as MLflow's older pages request them."""
    runs = sorted(call.items("run_id"))
    key = call.fields.get("metric_key")
    if not runs:
        raise MlflowError("GetMetricHistoryBulk request must specify at least one run_id.")
    if len(runs) > _MOST_RUNS:
        raise MlflowError(
            f"GetMetricHistoryBulk request cannot specify more than {_MOST_RUNS} run_ids. Received {len(runs)} run_ids."
        )
    if key is None:
        raise MlflowError("GetMetricHistoryBulk request must specify a metric_key.")
    most = min(int(call.fields.get("max_results") or _PAGE), _PAGE)
    metrics: list[Json] = []
    for run in runs:
        call.check_run(run, active=False)
        metrics += [{**_metric(key, point), "run_id": run} for point in call.services.tracking.history(run, key)]
    return {"metrics": metrics[:most]}


def get_interval(call: Call) -> Json:
    runs, key = call.items("run_ids"), call.text("metric_key")
    if len(runs) > _MOST_RUNS:
        raise MlflowError(
            f"GetMetricHistoryBulkInterval request must specify at most {_MOST_RUNS} run_ids. "
            f"Received {len(runs)} run_ids. See the API docs for more information about request parameters."
        )
    most = call.fields.get("max_results", _MOST_SAMPLED)
    if not 1 <= most <= _MOST_SAMPLED:
        raise MlflowError(
            f"max_results must be between 1 and {_MOST_SAMPLED}. "
            "See the API docs for more information about request parameters."
        )
    steps = _steps(call)
    for run in runs:
        call.check_run(run, active=False)
    return {
        "metrics": [
            {**_metric(key, point), "run_id": run}
            for run in runs
            for point in call.services.tracking.sample(run, key, most, steps)
        ]
    }


def _steps(call: Call) -> tuple[float, float] | None:
    start, end = call.fields.get("start_step"), call.fields.get("end_step")
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise MlflowError("If either start step or end step are specified, both must be specified.")
    if start > end:
        raise MlflowError(f"end_step must be greater than start_step. Found start_step={start} and end_step={end}.")
    return start, end


def _metric(key: str, point: _Point) -> Json:
    time, step, value = point
    return {"key": key, "value": json_number(value), "timestamp": milliseconds(time), "step": int(step)}
