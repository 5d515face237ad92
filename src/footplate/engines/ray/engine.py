"""The engine of Ray clusters: one Ray job per attempt of a run, over the REST API of the head. The server has no `ray`.

The submission id is the run's id (`-2`, `-3` … for further attempts), so a repeated submission finds the first one. If
that has ended, the next one gets the suffix `.2`: a while after its end, Ray's monitor still writes to the old id. The
job runs `program`. A run on one node is the job's entrypoint itself, with its resources: Ray starts it where they
are free. Several nodes need a placement group, which a driver on the head reserves; such a driver also waits for one
node if Ray has given up an entrypoint that waited too long.

The handle holds everything that a later server needs: the head's address, the file with its token, the job's id, the
number of nodes and the resources of each.
"""

from __future__ import annotations

import base64
import functools
import json
import logging
import math
import shlex
import time
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from footplate import environ
from footplate.domain.orders import VISIBLE
from footplate.engines.base import AgentJob, LaunchRequest, NodeResources, Observation
from footplate.engines.ray import api, program, waiting
from footplate.engines.ray.api import Head, NotThere
from footplate.engines.ray.waiting import ClusterState
from footplate.engines.remote_start import COMMON_OPTIONS, RemoteStart, remote_start
from footplate.errors import InvalidInput, Unavailable

log = logging.getLogger(__name__)

_LOADER = (
    "import base64,json,os,zlib;text=os.environ.pop({name!r});"
    "JOB=dict(json.loads(zlib.decompress(base64.b64decode(text))),text=text);exec(JOB['program'])"
)
_TIMED_OUT = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"  # after RAY_JOB_START_TIMEOUT_SECONDS, 15 minutes by default
_NOT_STARTED = (
    _TIMED_OUT, "JOB_SUPERVISOR_ACTOR_START_FAILURE", "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE", "RUNTIME_ENV_SETUP_FAILURE",
)  # fmt: skip
_MOST_SUBMISSIONS = 100
_LOOK_SECONDS = 2.0


class RayEngine:
    """Agents as jobs of a Ray cluster."""

    name = "ray"
    shares_home = False
    options: Mapping[str, str] = {
        "address": "address of the head's dashboard, which has the Jobs API, such as http://head:8265",
        "token_file": "file on the server's machine with the token of a cluster that needs one (RAY_AUTH_MODE=token)",
        "resources": "custom resources of each node: name → amount",
        "driver_python": "interpreter on the head that has ray, for runs on several nodes; default python3",
        **COMMON_OPTIONS,
    }
    run_options = ("resources",)

    def __init__(self) -> None:
        self._canceled: set[str] = set()  # handles that this server has canceled
        self._looks: dict[Head, _Look] = {}

    def node_shape(self) -> None:
        return None

    def reach(self, options: Mapping[str, Any]) -> int:
        """Return how many nodes the cluster has now that are large enough; an autoscaler may add more."""
        head = Head.of(options)
        head.check_version()
        resources = NodeResources(options.get("cpus"), options.get("memory"), custom=options.get("resources") or {})
        return head.count_nodes(_bundle(resources))

    def prepare(self, job: AgentJob) -> LaunchRequest:
        if job.node_count < 1:
            raise InvalidInput(f"node_count is {job.node_count}", "give at least 1")
        head = Head.of(job.options)
        bundle = _bundle(job.resources)
        name = job.run if job.attempt == 1 else f"{job.run}-{job.attempt}"
        handle = {"address": head.address, "token_file": head.token_file, "job": name,
                  "nodes": job.node_count, "bundle": bundle}  # fmt: skip
        start = remote_start(job)
        body: dict[str, Any] = {
            "handle": handle,
            "job": _describe(job, name, start, bundle),
            "entrypoint": _as_entrypoint(start, bundle) if job.node_count == 1 else {},
        }
        return LaunchRequest(self.name, job.run, job.attempt, body)

    def submit(self, request: LaunchRequest) -> str:
        handle = dict(request.body["handle"])
        body = {**request.body["job"], **request.body["entrypoint"]}
        head = Head(handle["address"], handle["token_file"])
        first = str(handle["job"])
        head.check_version()
        for count in range(1, _MOST_SUBMISSIONS):
            handle["job"] = first if count == 1 else f"{first}.{count}"
            job = head.job(handle["job"])
            if job is None:
                head.submit_job({**body, "submission_id": handle["job"]})
            if job is None or job["status"] not in api.ENDED:
                return json.dumps(handle, sort_keys=True, separators=(",", ":"))
            if job.get("error_type") == _TIMED_OUT:
                body = request.body["job"]
        raise Unavailable(f"the Ray job {first} ended {_MOST_SUBMISSIONS - 1} times", "see its log in Ray's dashboard")

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        """Ask each head once about all its jobs. A head that is away does not hide the jobs of the others."""
        by_head: defaultdict[Head, dict[str, dict[str, Any]]] = defaultdict(dict)
        seen = dict[str, Observation]()
        errors = list[Unavailable]()
        for handle in handles:
            if (fields := _parse(handle)) is not None:
                by_head[Head(fields["address"], fields["token_file"])][handle] = fields
            else:
                seen[handle] = Observation("gone")
        for head, fields in by_head.items():
            look = self._looks.setdefault(head, _Look(head))
            try:
                seen.update(_Round(head, self._canceled, look).observe(fields))
            except Unavailable as error:
                errors.append(error)
        if errors and not seen:
            raise errors[0]
        for error in errors:
            log.warning("cannot query a Ray cluster: %s", error.message)
        return seen

    def cancel(self, handle: str, grace: float) -> None:
        """Ask Ray to stop the job. Ray waits for the grace of the submitted job, whatever `grace` is here."""
        fields = _parse(handle)
        if fields is None:
            return
        self._canceled.add(handle)
        try:
            Head(fields["address"], fields["token_file"]).stop_job(fields["job"])
        except NotThere:
            pass
        except Unavailable as error:  # the agents learn it from the server as well; the next poll repeats this
            log.warning("cannot stop the Ray job %s yet: %s", fields["job"], error.message)

    def forget(self, handle: str) -> bool:
        fields = _parse(handle)
        if fields is None:
            return True
        head = Head(fields["address"], fields["token_file"])
        try:
            job = head.job(fields["job"])
            if job is not None and job["status"] not in api.ENDED:
                return False
            if job is not None:
                head.delete_job(fields["job"])
        except Unavailable:
            return False
        self._canceled.discard(handle)
        return True


# ── The job ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bundle(resources: NodeResources) -> dict[str, float]:
    """Return the resources of a node in Ray's names: one CPU if the run requests nothing."""
    bundle: dict[str, float] = {"CPU": resources.cpus if resources.cpus is not None else 1}
    if resources.gpus:
        bundle["GPU"] = resources.gpus
    if resources.memory:
        bundle["memory"] = int(resources.memory * 2**30)
    for name, amount in resources.custom.items():
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not 0 < amount < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the resource {name!r} has the amount {amount!r}", "give a number above 0")
        bundle[name] = amount
    return bundle


def _describe(job: AgentJob, name: str, start: RemoteStart, bundle: dict[str, float]) -> dict[str, Any]:
    """Return the request for a driver that reserves a placement group."""
    loader = _LOADER.format(name=environ.RAY_JOB)
    hidden = {} if "GPU" in bundle else {VISIBLE: ""}  # Ray itself leaves the devices of others visible
    described = {
        "program": _program(), "script": start.script, "python": start.interpreter, "loader": loader,
        "variable": environ.RAY_JOB, "variables": {**start.variables, **hidden}, "bundle": bundle, "name": name,
        "arguments": [start.arguments(node) for node in range(job.node_count)],
    }  # fmt: skip
    text = base64.b64encode(zlib.compress(json.dumps(described, sort_keys=True).encode(), 9)).decode()
    variables = {environ.RAY_JOB: text, "RAY_JOB_STOP_WAIT_TIME_S": str(math.ceil(job.grace))}
    return {
        "runtime_env": {"env_vars": variables},
        "metadata": {"job_name": f"Footplate run {job.run}", "attempt": str(job.attempt)},
        "entrypoint": _command([str(job.options.get("driver_python") or "python3")], "gang"),
    }


def _as_entrypoint(start: RemoteStart, bundle: dict[str, float]) -> dict[str, Any]:
    """Return the fields of the request that make the agent of a single node the entrypoint itself."""
    custom = {name: amount for name, amount in bundle.items() if name not in ("CPU", "GPU", "memory")}
    return {
        "entrypoint": _command(start.interpreter, "node 0"),
        "entrypoint_num_cpus": bundle["CPU"], "entrypoint_num_gpus": bundle.get("GPU", 0),
        "entrypoint_memory": bundle.get("memory", 0), "entrypoint_resources": custom,
    }  # fmt: skip


def _command(interpreter: Sequence[str], mode: str) -> str:
    return f"exec {shlex.join([*interpreter, '-c', _LOADER.format(name=environ.RAY_JOB)])} {mode}"


@functools.cache
def _program() -> str:
    return Path(program.__file__).read_text(encoding="utf-8")


# ── Watching ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parse(handle: str) -> dict[str, Any] | None:
    try:
        fields = cast("dict[str, Any]", json.loads(handle))
        return fields if fields["address"] and fields["job"] and fields["nodes"] and fields["bundle"] else None
    except (ValueError, KeyError, TypeError):
        return None


class _Look:
    """The state of a cluster for explanations, repeated after a while: a cluster's events may be many."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._state = ClusterState(None)
        self._until = 0.0

    def state(self) -> ClusterState:
        if time.monotonic() >= self._until:
            self._until = time.monotonic() + _LOOK_SECONDS
            try:
                self._state = self._head.look_around()
            except (Unavailable, LookupError, TypeError, ValueError, AttributeError) as error:
                # Another version may answer differently: then runs wait without an explanation.
                log.warning("cannot see why runs of %s wait: %r", self._head.address, error)
                self._state = ClusterState(None)
        return self._state


class _Round:
    """One round of questions to a cluster: one request for all jobs, one for the actors of runs on several nodes if
    there are such, and one for each run that misses a node. `look` explains why runs wait.
    """

    def __init__(self, head: Head, canceled: set[str], look: _Look) -> None:
        self._head, self._canceled, self._look = head, canceled, look

    def observe(self, handles: Mapping[str, dict[str, Any]]) -> dict[str, Observation]:
        jobs = self._head.jobs()
        running = [jobs[fields["job"]] for fields in handles.values() if _is_gang(jobs.get(fields["job"]))]
        actors = self._head.actors() if running else {}
        observations: dict[str, Observation] = {}
        for handle, fields in handles.items():
            job = jobs.get(fields["job"])
            observations[handle] = self._observe(handle, fields, job, actors.get(str(job["job_id"]), {}) if job else {})
        return observations

    def _observe(
        self, handle: str, fields: dict[str, Any], job: dict[str, Any] | None, places: dict[int, str]
    ) -> Observation:
        nodes = int(fields["nodes"])
        if job is None:  # a head without persistence has started again, or somebody has deleted the job
            reason = "the Ray cluster does not know the job any more: its head was started again, or it was deleted"
            return Observation("exited", dict.fromkeys(range(nodes)), reason=reason, ended_by="node_lost")
        if job["status"] in api.ENDED:
            return _observe_ended(job, nodes, handle in self._canceled)
        if handle in self._canceled and job["status"] == "PENDING":
            # Ray stops the job as soon as it starts it; nothing runs until then, and the run's token is void.
            return Observation("exited", dict.fromkeys(range(nodes)))
        if job["status"] == "PENDING":
            return Observation("queued", reason=self._why_waiting(fields))
        if not _is_gang(job):
            return Observation("running", places={0: api.host_of(job.get("driver_agent_http_address"))})
        return self._observe_gang(fields, job, places)

    def _observe_gang(self, fields: dict[str, Any], job: dict[str, Any], places: dict[int, str]) -> Observation:
        missing = set(range(int(fields["nodes"]))) - set(places)
        dead = self._head.dead_actors(str(job["job_id"])) if missing and job["job_id"] else {}
        if not places and not dead:
            return Observation("queued", reason=self._why_waiting(fields))
        died = {node: dead[node] for node in sorted(missing) if dead.get(node) is not None}
        return Observation("running", dict.fromkeys(died), tuple(died), next(iter(died.values()), None), places=places)

    def _why_waiting(self, fields: dict[str, Any]) -> str:
        return waiting.explain(self._look.state(), fields["job"], fields["bundle"], int(fields["nodes"]))


def _is_gang(job: Mapping[str, Any] | None) -> bool:
    return job is not None and job["status"] == "RUNNING" and str(job["entrypoint"]).endswith(" gang")


def _observe_ended(job: dict[str, Any], nodes: int, canceled: bool) -> Observation:
    message = str(job.get("message") or "")
    nobody = dict[int, "int | None"].fromkeys(range(nodes))
    if job["status"] == "SUCCEEDED":
        return Observation("exited", dict.fromkeys(range(nodes), 0))
    if job["status"] == "STOPPED":
        if canceled:
            return Observation("exited", nobody)
        return Observation("exited", nobody, reason="somebody stopped the Ray job", ended_by="stopped_elsewhere")
    if job.get("error_type") in _NOT_STARTED:  # not lost: the next submission of the same attempt may succeed
        return Observation("exited", nobody, reason=api.first_line(message))
    result = _read_result(message)
    if result is not None:
        codes = {**nobody, **{int(node): code for node, code in result["codes"].items()}}
        lost = [f"node {node}: {why}" for node, why in sorted(result["lost"].items())]
        return Observation("exited", codes, reason="; ".join(lost) or None, ended_by=_find_reason(lost))
    if nodes == 1 and (code := job.get("driver_exit_code")) is not None:
        return Observation("exited", {0: int(code)})
    return Observation("exited", nobody, reason=api.first_line(message), ended_by=_find_reason([message]))


def _read_result(message: str) -> dict[str, Any] | None:
    """Return the last line of a driver, which reports the exit codes of its nodes."""
    _, marker, text = message.rpartition(program.RESULT)
    try:
        return json.loads(text.splitlines()[0]) if marker else None
    except (ValueError, IndexError):
        return None


def _find_reason(reasons: list[str]) -> str | None:
    if not reasons:
        return None
    return "out_of_memory" if any("memory" in reason.lower() for reason in reasons) else "node_lost"
