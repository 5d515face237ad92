"""The text that sbatch gets, and the meaning of what squeue and sacct print about it. Pure: nothing is called here."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from footplate.engines.base import AgentJob, Observation
from footplate.engines.remote_start import RemoteStart
from footplate.errors import InvalidInput

WARNING_SECONDS = 60
RESTARTED = 75
"""Exit code of a job that Slurm started again by itself."""

_TIME_LIMIT = re.compile(r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|UNLIMITED", re.IGNORECASE)
_OWNED = frozenset((
    "--job-name", "-J", "--nodes", "-N", "--ntasks", "-n", "--ntasks-per-node", "--array", "-a", "--export", "--wrap",
    "--signal", "--chdir", "-D",
))  # fmt: skip
"""Options of sbatch that the engine sets itself."""

# ── The text for sbatch ───────────────────────────────────────────────────────────────────────────────────────────────

_SCRIPT = """\
#!/bin/bash
{directives}

# A job that Slurm starts again would repeat an attempt; the server starts a new attempt in a job of its own.
[ "${{SLURM_RESTART_COUNT:-0}}" = 0 ] || exit {restarted}

# Slurm signals every process of a step, but only the agents may decide about the processes of the run.
{pass_on}
trap 'pass_on USR1' USR1
trap 'pass_on TERM{force}' USR2
trap : TERM

{command} <<'FOOTPLATE_AGENT' &
{program}
FOOTPLATE_AGENT
agents=$!
while wait "$agents"; code=$?; kill -0 "$agents" 2>/dev/null; do :; done
exit "$code"
"""

# The agent of a single node is a child of the batch script: the start of a step would take as long as all else.
_PASS_ON_TO_CHILD = 'pass_on() { kill -s "$1" "$agents"; }'
_PASS_ON_TO_NODES = """\
pass_on() {
    for pause in 1 2 4 8 0; do  # srun may fail, or wait for ever, while the controller restarts
        timeout -k 2 10 srun --overlap sh -c 'kill -s '"$1"' $(scontrol listpids "$SLURM_JOB_ID.0" "$SLURMD_NODENAME" |
            while read -r pid _ _ task _; do [ "$task" != 0 ] || echo "$pid"; done); true' && break
        sleep "$pause"
    done
}"""


def job_name(run: str, attempt: int) -> str:
    return f"footplate-{run}-{attempt}"


def render(job: AgentJob, start: RemoteStart) -> str:
    """Return the batch script. Variables, among them the token, travel in the environment of sbatch."""
    directives = [*_directives(job), *_extra_lines(job.options)]
    return _SCRIPT.format(
        directives="\n".join(f"#SBATCH {each}" for each in directives),
        restarted=RESTARTED,
        force=f'; (sleep {job.grace:g}; scancel "$SLURM_JOB_ID") &' if job.grace > 0 else "",
        pass_on=_PASS_ON_TO_CHILD if job.node_count == 1 else _PASS_ON_TO_NODES,
        command=_command(job, start),
        program=start.script.rstrip("\n"),
    )


def _command(job: AgentJob, start: RemoteStart) -> str:
    agent = shlex.join([*start.interpreter, "-", *start.common])
    if job.node_count == 1:
        return f"{agent} --node 0"
    cpus = f"--cpus-per-task={job.resources.cpus} " if job.resources.cpus else ""
    return f"srun --kill-on-bad-exit=1 {cpus}sh -c " + shlex.quote(f'exec {agent} --node "$SLURM_NODEID"')


def _directives(job: AgentJob) -> list[str]:
    needs, options = job.resources, job.options
    gres = [f"{name}:{count:g}" for name, count in sorted(needs.custom.items())]
    if needs.gpus:
        gres.insert(0, f"gpu:{needs.gpus}")
    named = ("partition", "account", "qos", "constraint")
    return [
        f"--job-name={job_name(job.run, job.attempt)}",
        f"--nodes={job.node_count}",
        "--ntasks-per-node=1",
        *([f"--cpus-per-task={needs.cpus}"] if needs.cpus else []),
        *([f"--mem={int(needs.memory * 1024)}M"] if needs.memory else []),
        *([f"--gres={','.join(gres)}"] if gres else []),
        *(f"--{name}={_word(name, options[name])}" for name in named if options.get(name)),
        *_time_limit(options),
        *_warning(options),
        "--export=ALL",
        "--chdir=/",
        "--output=/dev/null",
        "--no-requeue",
    ]


def _time_limit(options: Mapping[str, Any]) -> list[str]:
    limit = str(options.get("time_limit") or "")
    if limit and not _TIME_LIMIT.fullmatch(limit):
        raise InvalidInput(
            f"the option time_limit is {limit!r}", "give minutes, hours:minutes:seconds or days-hours:minutes"
        )
    return [f"--time={limit}"] if limit else []


def _warning(options: Mapping[str, Any]) -> list[str]:
    value = options.get("warning", WARNING_SECONDS)
    try:
        seconds = int(value)
    except (TypeError, ValueError):
        seconds = -1
    if not 0 <= seconds <= 65535:
        raise InvalidInput(f"the option warning is {value!r}", "give seconds, 0 to 65535")
    return [f"--signal=B:USR1@{seconds}"] if seconds else []


def _word(name: str, value: Any) -> str:
    if not isinstance(value, (str, int)) or not str(value).strip() or re.search(r"\s", str(value)):
        raise InvalidInput(f"the option {name} is {value!r}", "give one word, without spaces")
    return str(value)


def _extra_lines(options: Mapping[str, Any]) -> list[str]:
    value: Any = options.get("sbatch") or ()
    if not isinstance(value, (str, list, tuple)):
        raise InvalidInput(f"the option sbatch is {value!r}", "give a list of lines, such as --mail-type=END")
    lines = [value] if isinstance(value, str) else cast("Sequence[Any]", value)
    return [_extra_line(line) for line in lines]


def _extra_line(line: Any) -> str:
    text = line.strip().removeprefix("#SBATCH").strip() if isinstance(line, str) else ""
    if not text.startswith("-") or "\n" in text:
        raise InvalidInput(f"the option sbatch has the line {line!r}", "give an option of sbatch, such as --exclusive")
    name = re.split(r"[\s=]", text)[0]
    if name in _OWNED or name[:2] in _OWNED:
        raise InvalidInput(f"the option sbatch has the line {line!r}", f"Footplate sets {name} itself")
    return text


# ── What Slurm prints ─────────────────────────────────────────────────────────────────────────────────────────────────


def parse_sinfo(text: str) -> dict[str, int]:
    """Return the partitions with their numbers of nodes, from lines `NAME NODES` that may repeat a name."""
    partitions: dict[str, int] = {}
    for line in text.splitlines():
        name, _, count = line.rpartition(" ")
        partitions[name] = partitions.get(name, 0) + int(count)
    return partitions


SQUEUE_FIELDS = ("JobID", "State", "Reason", "StartTime", "exit_code", "RestartCnt", "NodeList")
SACCT_FIELDS = ("JobIDRaw", "State", "Reason", "Start", "ExitCode", "NodeList", "JobName")
"""Fields of `sacct --duplicates`. Its field Restarts is too new for many clusters."""

_ENDED_BY = {
    "PREEMPTED": "preempted", "NODE_FAIL": "node_lost", "BOOT_FAIL": "node_lost", "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit", "OUT_OF_MEMORY": "out_of_memory", "CANCELLED": "stopped_elsewhere",
    "REVOKED": "stopped_elsewhere",
}  # fmt: skip
_ENDED = frozenset((*_ENDED_BY, "COMPLETED", "FAILED", "SPECIAL_EXIT"))
_QUEUED = frozenset(("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD"))

_REASONS = {
    "Priority": "jobs with a higher priority are ahead",
    "Resources": "waits for nodes or other resources to become free",
    "Dependency": "waits for another job that it depends on",
    "DependencyNeverSatisfied": "depends on a job that can no longer satisfy it",
    "BeginTime": "its earliest start time has not come yet",
    "JobHeldUser": "held by its user; release it with: scontrol release JOB",
    "JobHeldAdmin": "held by an administrator of the cluster",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition does not start jobs at the moment",
    "PartitionNodeLimit": "requests more nodes than its partition gives to one job",
    "PartitionTimeLimit": "requests more time than its partition gives; lower the option time_limit",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "BadConstraints": "no node has what it requests; check the option constraint and the resources",
    "Licenses": "waits for licenses",
    "Reservation": "waits for its reservation",
    "Prolog": "the prolog of its nodes is still running",
    "Cleaning": "the last start of the job is still being cleaned up",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "NonZeroExitCode": "ended with an error",
    "TimeLimit": "reached its time limit",
    "None": "not considered by the scheduler yet",
}
_LIMITS = (("QOS", "the QOS"), ("Assoc", "the account"), ("MaxJobs", "the account"), ("Part", "the partition"))


@dataclass(frozen=True)
class SlurmJob:
    """One line of squeue or sacct."""

    job: str
    state: str
    reason: str
    start: float | None
    status: int  # as wait() returns it
    restarts: int
    hosts: tuple[str, ...]

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDED

    @property
    def is_queued(self) -> bool:
        return self.state in _QUEUED


def parse_squeue(text: str) -> dict[str, SlurmJob]:
    """Read lines of SQUEUE_FIELDS, each followed by a bar. Times are seconds since the epoch."""
    rows = (line.split("|") for line in text.splitlines() if line.count("|") >= len(SQUEUE_FIELDS))
    jobs = (_job(row[0], row[1], row[2], row[3], _number(row[4]), _number(row[5]), row[6]) for row in rows)
    return {job.job: job for job in jobs}


def parse_sacct(text: str) -> dict[str, SlurmJob]:
    """Read lines of SACCT_FIELDS, separated by bars. Each start of a requeued job has a line; the last one is current.

    Earlier lines with another name belong to an older job: Slurm uses the numbers of jobs again.
    """
    lines = defaultdict[str, list[list[str]]](list)
    for line in text.splitlines():
        if line.count("|") >= len(SACCT_FIELDS) - 1:
            row = line.split("|", len(SACCT_FIELDS) - 1)
            lines[row[0]].append(row)
    return {job: _read_accounting(rows) for job, rows in lines.items()}


def _read_accounting(rows: Sequence[Sequence[str]]) -> SlurmJob:
    job, state, reason, start, code, hosts, name = rows[-1]
    states = [row[1] for row in rows if row[-1] == name]
    restarts = len(states) - 1 + (state == "REQUEUED")  # a job cancelled before its next start has no line for it
    return _job(job, state, reason, start, _status(code), restarts, "" if hosts == "None assigned" else hosts)


def _job(job: str, state: str, reason: str, start: str, status: int, restarts: int, hosts: str) -> SlurmJob:
    word = state.split()[0].rstrip("+") if state.strip() else ""  # sacct: "CANCELLED by 1000"
    when = float(start) if start.strip().isdigit() else None  # N/A, Unknown
    return SlurmJob(job.strip(), word, reason.strip(), when, status, restarts, tuple(expand_hosts(hosts.strip())))


def _number(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0


def _status(text: str) -> int:
    code, _, number = text.partition(":")
    return _number(code) << 8 | _number(number)


def expand_hosts(text: str) -> list[str]:
    """Expand a host list: n[1-3,7],login → n1 n2 n3 n7 login."""
    hosts = list[str]()
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        hosts += _expand(part)
    return hosts


def _expand(part: str) -> list[str]:
    brackets = re.search(r"\[([^\]]*)\]", part)
    if brackets is None:
        return [part]
    numbers = list[str]()
    for piece in brackets[1].split(","):
        first, _, last = piece.partition("-")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)]
    return [part[: brackets.start()] + number + rest for number in numbers for rest in _expand(part[brackets.end() :])]


# ── What it means ─────────────────────────────────────────────────────────────────────────────────────────────────────

_FAR_AWAY = 360 * 24 * 3600.0
"""Slurm assumes that a job without a time limit takes a year; an estimate that rests on that says nothing."""


def observe(job: SlurmJob, nodes: int, was_cancelled: bool) -> Observation:
    """Return the state of the agents. A job that Slurm has started again counts as preempted: see _SCRIPT."""
    places = dict(enumerate(job.hosts))
    if job.restarts > 0:
        words = f"Slurm requeued job {job.job}, because it was preempted or lost a node, or somebody requested it"
        return Observation("exited", dict.fromkeys(range(nodes)), reason=words, ended_by="preempted")
    if job.has_ended:
        return _observe_end(job, nodes, was_cancelled)
    if job.is_queued:
        soon = job.start is not None and job.start - time.time() < _FAR_AWAY
        return Observation("queued", reason=explain(job.reason), estimated_start=job.start if soon else None)
    return Observation("running", places=places)


def _observe_end(job: SlurmJob, nodes: int, was_cancelled: bool) -> Observation:
    ended_by = None if was_cancelled else _ENDED_BY.get(job.state)
    code = os.waitstatus_to_exitcode(job.status) if os.WIFEXITED(job.status) else None
    if job.state in _ENDED_BY:
        code = None
    codes = dict.fromkeys(range(nodes), 0 if job.state == "COMPLETED" else code)
    return Observation("exited", codes, reason=_describe_end(job, code), ended_by=ended_by)


def _describe_end(job: SlurmJob, code: int | None) -> str | None:
    where = f" on {', '.join(job.hosts)}" if job.hosts else ""
    if job.state == "COMPLETED":
        return None
    if code == 127:
        return f"Slurm job {job.job} failed{where}: the interpreter was not found there; set the option python"
    if job.state == "FAILED":
        return f"Slurm job {job.job} failed{where} with exit code {code}"
    words = job.state.lower().replace("_", " ")
    return f"Slurm job {job.job} ended{where}: {words}"


def explain(reason: str) -> str:
    """Put a reason of squeue in plain words, and keep Slurm's own for those who search for it."""
    name = reason.strip("()").split(",")[0]
    words = _REASONS.get(name)
    if words is None:
        scope = next((scope for prefix, scope in _LIMITS if name.startswith(prefix)), None)
        words = f"a limit of {scope} is reached" if scope and ("Max" in name or "Grp" in name) else "waits"
    return f"{words} (Slurm: {name})"
