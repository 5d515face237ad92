"""The engine of Slurm clusters: one batch job for each attempt of a run, with one agent on each of its nodes.

The server calls Slurm's commands on its own machine, or on a login node over ssh. A job is named after the run and the
attempt, so that a server that crashed between sbatch and storing the handle finds it again. Slurm keeps everything else
about a job; the engine keeps nothing. `batch` has the text of the job and the meaning of Slurm's answers.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footplate import backoff
from footplate.engines.base import AgentJob, LaunchRequest, Observation
from footplate.engines.remote_start import COMMON_OPTIONS, remote_start
from footplate.engines.slurm import batch
from footplate.engines.slurm.batch import SlurmJob
from footplate.engines.slurm.commands import Canceller, Place
from footplate.errors import InvalidInput, Unavailable

log = logging.getLogger(__name__)

_UNKNOWN_JOB = "Invalid job id"
_NO_ACCOUNTING = "accounting storage is disabled"
_SUBMISSIONS = 8
"""How often a submission is tried while the controller does not answer, because it restarts for example."""

_REMEMBERED = 1000

_Found = dict[str, SlurmJob | None]
"""Jobs by number: None if Slurm does not know the job. A job whose state cannot be known at the moment is missing."""


class SlurmEngine:
    name = "slurm"
    shares_home = False
    options: Mapping[str, str] = {
        "partition": "partition, or several separated by commas",
        "account": "account to charge",
        "qos": "quality of service",
        "constraint": "features that the nodes must have",
        "time_limit": "time limit of a job, in Slurm's format: minutes, hours:minutes:seconds, days-hours",
        "warning": f"seconds before the time limit at which scripts are warned; default {batch.WARNING_SECONDS}",
        "sbatch": "list of further options of sbatch, such as --exclusive",
        "host": "login node on which the server calls Slurm over ssh; default: the server's own machine",
        "ssh": "command that reaches the host; default ssh",
        **COMMON_OPTIONS,
    }
    run_options = ("partition", "account", "qos", "constraint", "time_limit", "warning", "sbatch")

    def __init__(self) -> None:
        self._submitting = [threading.Lock() for _ in range(16)]  # shared by the names of jobs
        self._submitted: dict[str, None] = {}  # names of jobs, the oldest first: submitted again, they may exist
        self._cancelled: set[str] = set()
        self._canceller = Canceller()
        self._without_accounting: set[Place] = set()

    # ── The protocol ──────────────────────────────────────────────────────────────────────────────────────────────────

    def node_shape(self) -> None:
        return None

    def reach(self, options: Mapping[str, Any]) -> int:
        """Return how many nodes the target's partitions have."""
        place = Place(str(options.get("host") or ""), str(options.get("ssh") or "ssh"))
        partitions = batch.parse_sinfo(place.ask(["sinfo", "--noheader", "--format=%R %D"]) or "")
        names = [name for name in str(options.get("partition") or "").split(",") if name]
        for name in names:
            if name not in partitions:
                raise InvalidInput(f"the option partition is {name!r}", f"the partitions are {', '.join(partitions)}")
        return sum(partitions[name] for name in names) if names else max(partitions.values(), default=0)

    def prepare(self, job: AgentJob) -> LaunchRequest:
        if job.node_count < 1:
            raise InvalidInput(f"node_count is {job.node_count}", "give at least 1")
        start = remote_start(job)
        body = {
            "script": batch.render(job, start),
            "variables": dict(start.variables),
            "nodes": job.node_count,
            "is_first": job.is_first,
            "host": str(job.options.get("host") or ""),
            "ssh": str(job.options.get("ssh") or "ssh"),
        }
        return LaunchRequest(self.name, job.run, job.attempt, body)

    def submit(self, request: LaunchRequest) -> str:
        place = Place(request.body["host"], request.body["ssh"])
        name = batch.job_name(request.run, request.attempt)

        def find_or_start() -> str:
            living = _find_living(place, name) if name in self._submitted or not request.body["is_first"] else None
            self._submitted[name] = None
            return living or _sbatch(place, request.body)

        with self._submitting[hash(name) % len(self._submitting)]:
            job = backoff.retry(find_or_start, _SUBMISSIONS, backoff.Backoff(0.5, 10.0), Unavailable)
        self._forget_submissions()
        handle = {"job": job, "nodes": request.body["nodes"], "host": place.host, "ssh": place.ssh}
        return json.dumps(handle, sort_keys=True, separators=(",", ":"))

    def _forget_submissions(self) -> None:
        """Keep the names of the latest jobs: only then can the first submission still be under way."""
        for name in list(self._submitted)[:-_REMEMBERED]:  # a copy: other threads submit meanwhile
            self._submitted.pop(name, None)

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        """Ask each cluster once about all its jobs. A cluster that is away does not hide the jobs of the others."""
        parsed = {handle: _parse(handle) for handle in handles}
        jobs = defaultdict[Place, list[str]](list)
        for each in parsed.values():
            if each is not None:
                jobs[each.place].append(each.job)
        answers = self._look_up_all(jobs)
        seen = dict[str, Observation]()
        for handle, each in parsed.items():
            if each is None:
                seen[handle] = Observation("gone")
            elif each.job in answers[each.place]:
                seen[handle] = self._observe(each, answers[each.place][each.job])
        self._end_restarted(answers)
        return seen

    def cancel(self, handle: str, grace: float) -> None:
        parsed = _parse(handle)
        if parsed is not None:
            self._cancelled.add(handle)
            self._canceller.add(parsed.place, parsed.job, grace)

    def forget(self, handle: str) -> bool:
        """Return whether the job has ended: agents remove their own files, and Slurm forgets jobs by itself."""
        parsed = _parse(handle)
        if parsed is not None:
            job = _squeue(parsed.place, [parsed.job]).get(parsed.job)
            if job is not None and not job.has_ended:
                return False
            self._cancelled.discard(handle)
        return True

    # ── Watching ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _look_up_all(self, jobs: Mapping[Place, list[str]]) -> dict[Place, _Found]:
        answers = dict[Place, _Found]()
        errors = list[Unavailable]()
        for place, numbers in jobs.items():
            try:
                answers[place] = self._look_up(place, numbers)
            except Unavailable as error:
                answers[place] = {}
                errors.append(error)
        if errors and not any(answers.values()):
            raise errors[0]
        for error in errors:
            log.warning("cannot query a Slurm cluster: %s", error.message)
        return answers

    def _look_up(self, place: Place, jobs: list[str]) -> _Found:
        """Return what slurmctld knows about these jobs, and about older ones what the accounting knows."""
        current: _Found = dict(_squeue(place, jobs))
        older = [job for job in jobs if job not in current]
        if not older:
            return current
        try:
            return {**current, **dict.fromkeys(older), **self._ask_accounting(place, older)}
        except Unavailable as error:
            if not current:
                raise
            log.warning("the accounting of Slurm does not answer: %s", error.message)
            return current

    def _ask_accounting(self, place: Place, jobs: list[str]) -> dict[str, SlurmJob]:
        if place in self._without_accounting:
            return {}
        text = place.ask(_sacct(jobs), unless=_NO_ACCOUNTING)
        if text is None:
            self._without_accounting.add(place)
        return batch.parse_sacct(text or "")

    def _observe(self, parsed: _Handle, job: SlurmJob | None) -> Observation:
        if job is None:
            return Observation("gone")
        return batch.observe(job, parsed.nodes, parsed.text in self._cancelled)

    def _end_restarted(self, answers: Mapping[Place, _Found]) -> None:
        """Remove jobs that Slurm has queued again: a new attempt has a job of its own."""
        for place, jobs in answers.items():
            restarted = [job.job for job in jobs.values() if job and job.restarts and not job.has_ended]
            if restarted:
                place.call(["scancel", "--quiet", *restarted])


@dataclass(frozen=True)
class _Handle:
    text: str
    job: str
    nodes: int
    place: Place


def _parse(handle: str) -> _Handle | None:
    try:
        fields = json.loads(handle)
        return _Handle(handle, str(fields["job"]), int(fields["nodes"]), Place(fields["host"], fields["ssh"]))
    except (ValueError, KeyError, TypeError):
        return None


# ── Slurm's commands ──────────────────────────────────────────────────────────────────────────────────────────────────


def _sbatch(place: Place, body: Mapping[str, Any]) -> str:
    done = place.call(["sbatch", "--parsable"], body["script"], body["variables"])
    if done.returncode:
        words = " ".join(line.removeprefix("sbatch: error: ") for line in done.stderr.splitlines())
        raise InvalidInput(f"Slurm refuses the job: {words}", "correct the options of the compute target or of the run")
    return done.stdout.strip().splitlines()[-1].split(";")[0]


def _find_living(place: Place, name: str) -> str | None:
    """Return the job of this name that waits or runs, if there is one."""
    text = place.ask([*_squeue_command(), "--me", f"--name={name}"], unless=_UNKNOWN_JOB)
    living = [job.job for job in batch.parse_squeue(text or "").values() if not job.has_ended]
    return living[0] if living else None


def _squeue(place: Place, jobs: Sequence[str]) -> dict[str, SlurmJob]:
    """Return the jobs that slurmctld still knows; squeue fails if a single job is unknown."""
    text = place.ask([*_squeue_command(), f"--jobs={','.join(jobs)}"], unless=_UNKNOWN_JOB)
    return batch.parse_squeue(text or "")


def _squeue_command() -> list[str]:
    fields = ",".join(f"{name}:|" for name in batch.SQUEUE_FIELDS)
    return ["env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", "--states=all", f"--Format={fields}"]


def _sacct(jobs: Sequence[str]) -> list[str]:
    fields = ",".join(batch.SACCT_FIELDS)
    shape = ("--noheader", "--parsable2", "--allocations", "--duplicates")
    return ["env", "SLURM_TIME_FORMAT=%s", "sacct", *shape, f"--format={fields}", f"--jobs={','.join(jobs)}"]
