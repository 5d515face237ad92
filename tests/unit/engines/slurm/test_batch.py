from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from footplate.engines.base import AgentJob, NodeResources, Observation
from footplate.engines.remote_start import RemoteStart
from footplate.engines.slurm import batch
from footplate.errors import InvalidInput

GOLDEN = Path(__file__).parent / "golden"
JOB = AgentJob("train_1", 2, 1, "http://10.0.0.1:8000", token="t0ken")
FULL = replace(
    JOB,
    node_count=4,
    grace=120.0,
    resources=NodeResources(cpus=8, memory=62.5, gpus=2, custom={"tape": 1.0, "bandwidth": 2.0}),
    options={
        "partition": "gpu,large", "account": "team7", "qos": "high", "constraint": "a100|h100",
        "time_limit": "1-12:00:00", "warning": 300, "sbatch": ["--exclusive", "#SBATCH --mail-type=END"],
    },
)  # fmt: skip


def start(job: AgentJob, python: str = "python3") -> RemoteStart:
    common = ("--run", job.run, "--attempt", str(job.attempt), "--endpoint", job.endpoint)
    return RemoteStart("print('the agent')\n", python, {"FOOTPLATE_TOKEN": "t0ken"}, common)


@pytest.mark.parametrize(("name", "job", "python"), [("plain", JOB, "python3"), ("full", FULL, "/opt/py thon/bin/py")])
def test_the_batch_script_is_exactly_the_golden_file(name: str, job: AgentJob, python: str) -> None:
    assert batch.render(job, start(job, python)) == (GOLDEN / f"{name}.sbatch").read_text()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("time_limit", "one day", "time_limit is 'one day'"),
        ("partition", "a b", "partition is 'a b'"),
        ("account", ["x"], "account is"),
        ("warning", "soon", "warning is 'soon'"),
        ("warning", 70000, "warning is 70000"),
        ("sbatch", {"a": 1}, "sbatch is"),
        ("sbatch", ["exclusive"], "the line 'exclusive'"),
        ("sbatch", ["--exclusive\nrm -r /"], "the line"),
        ("sbatch", ["--array=1-10"], "the line '--array=1-10'"),
        ("sbatch", ["-J other"], "the line '-J other'"),
        ("sbatch", "-Jother", "the line '-Jother'"),
    ],
)
def test_bad_options_are_refused_by_name(option: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        batch.render(replace(JOB, options={option: value}), start(JOB))
    assert words in refused.value.message


def test_no_warning_is_requested_with_0_seconds() -> None:
    assert "--signal" not in batch.render(replace(JOB, options={"warning": 0}), start(JOB))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("login", ["login"]),
        ("n[1-3,7],gpu-09", ["n1", "n2", "n3", "n7", "gpu-09"]),
        ("rack[1-2]n[08-10]", ["rack1n08", "rack1n09", "rack1n10", "rack2n08", "rack2n09", "rack2n10"]),
    ],
)
def test_host_lists_are_expanded_in_their_order(text: str, hosts: list[str]) -> None:
    assert batch.expand_hosts(text) == hosts


def see(line: str, nodes: int = 1, cancelled: bool = False) -> Observation:
    (job,) = batch.parse_squeue(line).values()
    return batch.observe(job, nodes, cancelled)


def test_a_running_job_has_places() -> None:
    assert see("7|RUNNING|None|1794838839|0|0|n[0-1]|", 2) == Observation("running", places={0: "n0", 1: "n1"})
    assert see("7|COMPLETING|None|1794838839|0|0|n0|").state == "running"


def test_a_queued_job_has_a_reason_and_an_estimate() -> None:
    seen = see("7|PENDING|Priority|1000|0|0||")
    assert (seen.state, seen.estimated_start) == ("queued", 1000.0)
    assert seen.reason == "jobs with a higher priority are ahead (Slurm: Priority)"
    assert see("7|PENDING|None|N/A|0|0||").estimated_start is None
    assert see("7|PENDING|Resources|99999999999|0|0||").estimated_start is None


@pytest.mark.parametrize(
    ("state", "status", "code", "ended_by"),
    [
        ("COMPLETED", 0, 0, None),
        ("FAILED", 3 << 8, 3, None),
        ("FAILED", 9, None, None),
        ("PREEMPTED", 15, None, "preempted"),
        ("NODE_FAIL", 1, None, "node_lost"),
        ("TIMEOUT", 15, None, "time_limit"),
        ("OUT_OF_MEMORY", 125 << 8, None, "out_of_memory"),
        ("CANCELLED", 15, None, "stopped_elsewhere"),
    ],
)
def test_an_ended_job_says_who_ended_it(state: str, status: int, code: int | None, ended_by: str | None) -> None:
    seen = see(f"7|{state}|None|0|{status}|0|n[0-1]|", 2)
    assert (seen.state, seen.codes, seen.ended_by) == ("exited", {0: code, 1: code}, ended_by)


def test_our_own_cancellation_is_not_reported_as_somebody_elses() -> None:
    assert see("7|CANCELLED|None|0|15|0|n0|", cancelled=True).ended_by is None


def test_a_job_that_slurm_started_again_counts_as_preempted() -> None:
    for state in ("PENDING", "RUNNING", "FAILED", "CANCELLED"):
        seen = see(f"7|{state}|BeginTime|0|0|1|n0|")
        assert (seen.state, seen.ended_by) == ("exited", "preempted")


def test_a_missing_interpreter_is_named() -> None:
    assert "set the option python" in (see(f"7|FAILED|NonZeroExitCode|0|{127 << 8}|0|n0|").reason or "")


def account(text: str) -> Observation:
    (job,) = batch.parse_sacct(text).values()
    return batch.observe(job, 1, False)


def test_accounting_is_read_like_the_queue() -> None:
    text = "7|FAILED|None|1794838838|3:0|n0|footplate-r7-1\n8|COMPLETED|None|1794838838|0:0|n1|footplate-r8-1\n"
    found = batch.parse_sacct(text)
    assert [batch.observe(found[job], 1, False).codes for job in ("7", "8")] == [{0: 3}, {0: 0}]
    seen = account("8|CANCELLED by 1000|None|Unknown|0:0|None assigned|footplate-r8-1\n")
    assert (seen.ended_by, seen.reason) == ("stopped_elsewhere", "Slurm job 8 ended: cancelled")


def test_accounting_has_a_line_for_each_start_of_a_requeued_job() -> None:
    first = "7|REQUEUED|None|1794838838|0:0|n0|footplate-r1-1\n"
    assert account(first).ended_by == "preempted"
    assert account(first + first.replace("REQUEUED", "RUNNING")).ended_by == "preempted"
    assert account(first.replace("REQUEUED", "PREEMPTED") * 2).ended_by == "preempted"


def test_an_older_job_of_the_same_number_is_not_a_restart() -> None:
    seen = account("7|COMPLETED|None|1000|0:0|n0|my|job\n7|FAILED|None|2000|3:0|n0|footplate-r1-1\n")
    assert (seen.ended_by, seen.codes) == (None, {0: 3})


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("(Dependency)", "waits for another job that it depends on (Slurm: Dependency)"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "nodes that it needs are down, drained or reserved"),
        ("QOSMaxGRESPerUser", "a limit of the QOS is reached (Slurm: QOSMaxGRESPerUser)"),
        ("AssocGrpCpuLimit", "a limit of the account is reached (Slurm: AssocGrpCpuLimit)"),
        ("SomethingNew", "waits (Slurm: SomethingNew)"),
    ],
)
def test_reasons_are_put_in_plain_words(reason: str, words: str) -> None:
    assert batch.explain(reason).startswith(words)


def test_the_nodes_of_a_partition_are_added_up() -> None:
    assert batch.parse_sinfo("gpu 2\ncpu 10\ngpu 1\n") == {"gpu": 3, "cpu": 10}
    assert batch.parse_sinfo("") == {}
