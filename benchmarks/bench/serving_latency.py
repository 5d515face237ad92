"""The latency of one client, and the time from a deployment to its first answer."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bench.harness import Options, Report, Row, Target, interleave
from bench.machine import temporary_folder
from bench.serving_stage import LITSERVE, MLFLOW, MODELS, OURS, Contestant, Load, Stage, check_answers, stage
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import KINDS

ALONE = "footplate, batches of one"
IN_PROCESS = "in process"
ADDED_MS = 0.6
BATCHING_MS = 0.05
DEPLOY_SECONDS = 2.0

CAVEATS = """
One client sends one row at a time as JSON on an open connection; samples are the medians of short turns. "In process"
is the library alone in a loop, without JSON and HTTP: ONNX Runtime for the network, LightGBM for the trees.

All servers run one worker process and the library with one thread. MLflow validates more and converts each request to
a data frame; LitServe only batches. Footplate's gateway is a process of its own, which also checks keys and limits,
balances versions and counts.

"Batches of one" is the same service with adaptive batching turned off. A deployment is measured from Model.deploy to
the first right answer; its environment exists, because the model was deployed before.
"""


def run(options: Options) -> Report:
    report = Report("serving_latency", "serving, one client, one row per request", "ms", "", CAVEATS)
    with temporary_folder() as folder, stage(folder) as servers:
        for model in MODELS:
            _latency(report, servers, model, options)
        _deployments(report, servers, options)
    return report


def _latency(report: Report, servers: Stage, model: str, options: Options) -> None:
    seconds = options.pick(20, 5) / 10
    with servers.all(model, [LITSERVE, MLFLOW]) as contestants, _unbatched(servers, model) as alone:
        loads: dict[str, list[Load]] = {}

        def median(contestant: Contestant) -> float:
            load = servers.measure(contestant, 1, seconds)
            loads.setdefault(contestant.who, []).append(load)
            return statistics.median(load.latencies)

        measured = {c.who: (lambda c=c: median(c)) for c in [*contestants, alone]}
        measured[IN_PROCESS] = lambda: statistics.median(servers.in_process(model, seconds / 4))
        samples = interleave(options.pick(7, 2), measured)
        for contestant in (*contestants, alone):
            check_answers(report, contestant, loads[contestant.who])
    for who, values in samples.items():
        cpu = f"{statistics.median(load.server_cpu for load in loads[who]):.2f} ms CPU" if who in loads else ""
        report.rows.append(Row(f"{model}: {who}", values, cpu))
    medians = {who: statistics.median(values) for who, values in samples.items()}
    added = medians[OURS] - medians[IN_PROCESS]
    batching = medians[OURS] - medians[ALONE]
    report.targets += [
        Target(f"{MODELS[model]}: p50 beyond in process", added, "ms", at_most=ADDED_MS),
        Target(f"{MODELS[model]}: cost of adaptive batching at low load", batching, "ms", at_most=BATCHING_MS),
    ]


@contextmanager
def _unbatched(servers: Stage, model: str) -> Iterator[Contestant]:
    """Deploy the model once more, with a limit of one request per batch."""
    service = Model.deploy(servers.workspace, f"alone-{model}", [Model(servers.workspace, model)])
    try:
        service.wait_for_deployment()
        api = servers.workspace.session.api_for(KINDS).endpoints
        settings = api.get(servers.workspace.id, service.name).settings
        settings = replace(settings, limits=replace(settings.limits, max_batch=1))
        api.change(servers.workspace.id, service.name, "max-batch", settings=settings)
        yield Contestant(ALONE, model, str(service.scoring_uri), "data", servers.our_processes(service))
    finally:
        service.delete()


def _deployments(report: Report, servers: Stage, options: Options) -> None:
    for model in MODELS:
        times = [servers.first_answer(model, f"warm-{model}-{turn}") for turn in range(options.pick(5, 2))]
        report.rows.append(Row(f"{model}: deploy → first 200", tuple(value * 1000 for value in times)))
        target = Target(
            f"{MODELS[model]}: deploy → first 200, warm", statistics.median(times), "s", at_most=DEPLOY_SECONDS
        )
        report.targets.append(target)
