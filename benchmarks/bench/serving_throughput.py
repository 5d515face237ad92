"""Requests per second with 32 clients."""

from __future__ import annotations

import statistics

from bench.harness import Options, Report, Row, Target, interleave
from bench.machine import temporary_folder
from bench.serving_stage import (
    LITSERVE,
    LITSERVE_WAITING,
    MLFLOW,
    MLFLOW_TWO,
    MODELS,
    MOSEC,
    OURS,
    Load,
    Stage,
    check_answers,
    stage,
)

CLIENTS = 32
PEERS = {MLFLOW: 3.0, MLFLOW_TWO: None, LITSERVE: 1.5, LITSERVE_WAITING: 1.5, MOSEC: 1.1}
"""How many times faster we want to be."""
CLIENT_SHARE = 0.9

CAVEATS = """
32 clients send one row per request as JSON on open connections, each the next one when it has its answer. They are one
process with an epoll loop, the same for all contestants; its share of a core is checked, so that it is not what is
measured. On a machine with two cores it competes with the servers, and so costs the fastest one most.

Peers are suspended while others are measured: an idle LitServe polls, with a third of a core and more.

All servers run one worker process and the library with one thread; MLflow also runs with two. LitServe batches up to 32
requests, in one row those that are there and in the other after a wait of 5 ms. mosec, whose HTTP server is written in
Rust, waits 1 ms for a batch of 32 and checks neither keys nor shapes. The notes have the CPU time per request
in all processes of the server, which other load changes least.
"""


def run(options: Options) -> Report:
    report = Report("serving_throughput", "serving, 32 clients, one row per request", "1/s", "", CAVEATS)
    report.more_is_better = True
    with temporary_folder() as folder, stage(folder) as servers:
        for model in MODELS:
            _throughput(report, servers, model, options)
    return report


def _throughput(report: Report, servers: Stage, model: str, options: Options) -> None:
    seconds = options.pick(30, 8) / 10
    loads: dict[str, list[Load]] = {}
    with servers.all(model, tuple(PEERS)) as contestants:

        def rate(number: int) -> float:
            load = servers.measure(contestants[number], CLIENTS, seconds)
            loads.setdefault(contestants[number].who, []).append(load)
            return load.rate

        measured = {c.who: (lambda n=n: rate(n)) for n, c in enumerate(contestants)}
        samples = interleave(options.pick(5, 2), measured)
        for contestant in contestants:
            check_answers(report, contestant, loads[contestant.who])
    for who, values in samples.items():
        cpu = statistics.median(load.server_cpu for load in loads[who])
        p50 = statistics.median(statistics.median(load.latencies) for load in loads[who])
        report.rows.append(Row(f"{model}: {who}", values, f"{cpu:.2f} ms CPU, p50 {p50:.1f} ms"))
    ours = statistics.median(samples[OURS])
    for who, least in PEERS.items():
        if least is not None:
            ratio = ours / statistics.median(samples[who])
            report.targets.append(Target(f"{MODELS[model]}: beside {who}", ratio, "×", at_least=least))
    busiest = max(load.client_busy for found in loads.values() for load in found)
    report.check(f"{model}: the client was not the bottleneck", busiest < CLIENT_SHARE, f"{busiest:.0%} of a core")
