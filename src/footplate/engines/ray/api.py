"""Requests to the head of a Ray cluster: jobs, actors, free resources and the version."""

from __future__ import annotations

import functools
import json
import re
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

from footplate.engines.ray import waiting
from footplate.engines.ray.waiting import ClusterState
from footplate.errors import InvalidInput, Unavailable

ENDED = ("STOPPED", "SUCCEEDED", "FAILED")
OLDEST = (2, 10)
"""The oldest version of Ray that is accepted: earlier ones lack memory and exit codes of entrypoints."""

_TIMEOUT = 30.0
_ACTORS = "/api/v0/actors?limit=10000&filter_keys=class_name&filter_predicates=%3D&filter_values=FootplateNode"
_LIVING = f"{_ACTORS}&filter_keys=state&filter_predicates=!%3D&filter_values=DEAD"
_DIED = ("NODE_DIED", "WORKER_DIED")
"""Why an actor is dead that held a node; for other reasons its driver has ended it."""


class NotThere(Exception):
    """The head knows no such job."""


@dataclass(frozen=True)
class Head:
    """The head of a cluster, at the address of its dashboard."""

    address: str
    token_file: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Head:
        """Return the head that a compute target names. Raise InvalidInput for a bad address."""
        address = str(options.get("address") or "").rstrip("/")
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(
                f"the option address is {options.get('address')!r}", "give the head's dashboard: http://head:8265"
            )
        return cls(address, str(options["token_file"]) if options.get("token_file") else None)

    def check_version(self) -> None:
        version = _version(self)
        if version < OLDEST:
            raise InvalidInput(
                f"{self.address} runs Ray {'.'.join(map(str, version))}",
                f"update it to Ray {'.'.join(map(str, OLDEST))} or newer",
            )

    # ── Jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Return all jobs that were submitted, by submission id."""
        answer: Any = self._ask("GET", "/api/jobs/")
        if not isinstance(answer, list):
            raise self._unreadable("/api/jobs/", answer)
        jobs = cast("list[dict[str, Any]]", answer)
        return {str(job["submission_id"]): job for job in jobs if job.get("submission_id")}

    def job(self, name: str) -> dict[str, Any] | None:
        try:
            return self._ask("GET", f"/api/jobs/{quote(name)}")
        except NotThere:
            return None

    def submit_job(self, body: Mapping[str, Any]) -> None:
        """Submit a job; one that somebody has submitted meanwhile under this id is left alone."""
        try:
            self._ask("POST", "/api/jobs/", body)
        except Unavailable as error:
            if "already exists" not in error.message:
                raise

    def stop_job(self, name: str) -> None:
        self._ask("POST", f"/api/jobs/{quote(name)}/stop")

    def delete_job(self, name: str) -> None:
        try:
            self._ask("DELETE", f"/api/jobs/{quote(name)}")
        except NotThere:
            pass

    # ── The cluster ───────────────────────────────────────────────────────────────────────────────────────────────────

    def actors(self) -> dict[str, dict[int, str]]:
        """Return the hosts of living actors that hold nodes: by Ray's id of the driver and the index of the node."""
        hosts: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for actor in self._list(_LIVING):
            _, node, host = str(actor["name"]).rsplit("/", 2)
            hosts[str(actor["job_id"])][int(node)] = host
        return hosts

    def dead_actors(self, driver: str) -> dict[int, str | None]:
        """Return the nodes of a driver whose actors are dead: Ray's message if the machine or the process died, None if
        the driver has ended them.
        """
        path = f"{_ACTORS}&detail=true&filter_keys=job_id&filter_predicates=%3D&filter_values={quote(driver)}"
        reasons: dict[int, str | None] = {}
        for actor in self._list(path):
            death: dict[str, Any] = actor.get("death_cause") or {}
            cause: dict[str, Any] = death.get("actor_died_error_context") or {}
            if actor["state"] == "DEAD":
                node = int(str(actor["name"]).rsplit("/", 2)[1])
                reasons[node] = str(cause.get("error_message")) if cause.get("reason") in _DIED else None
        return reasons

    def _list(self, path: str) -> list[dict[str, Any]]:
        answer: Any = self._ask("GET", path)
        try:
            return list(answer["data"]["result"]["result"])
        except (KeyError, TypeError):
            raise self._unreadable(path, answer) from None

    def _unreadable(self, path: str, answer: object) -> Unavailable:
        return Unavailable(
            f"the Ray cluster at {self.address} answered {path.partition('?')[0]} without a list: {answer!r:.300}",
            "see whether its version is one that Footplate is tested with: docs/guides/ray.md",
        )

    def look_around(self) -> ClusterState:
        """Return the usage of the nodes and the reports of the autoscaler. Clusters of old versions have no events."""
        state = waiting.read_status(self._ask("GET", "/api/cluster_status").get("data") or {})
        if state.usage is None:
            summary: dict[str, Any] = self._ask("GET", "/nodes?view=summary").get("data") or {}
            texts: dict[str, str] = summary.get("nodeLogicalResources") or {}
            state = replace(state, usage=waiting.read_usage(texts) if texts else None)
        events = self._list("/api/v0/cluster_events?limit=10000")
        return replace(state, events=tuple((str(event["time"]), str(event["message"])) for event in events))

    def count_nodes(self, bundle: Mapping[str, float]) -> int:
        """Return how many living nodes are large enough for these resources."""
        nodes = self._list("/api/v0/nodes?limit=10000&detail=true")
        return sum(node["state"] == "ALIVE" and waiting.fits(bundle, node["resources_total"]) for node in nodes)

    def version(self) -> str:
        return str(self._ask("GET", "/api/version").get("ray_version"))

    # ── HTTP ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Content-Type": "application/json", **self._authorization()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unavailable(
                f"the Ray cluster at {self.address} does not answer: {reason}",
                "see whether its head runs, and whether this machine reaches the port of its dashboard",
            ) from None

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        text = error.read().decode(errors="replace").strip()
        if error.code == 404 and "does not exist" in text:
            return NotThere(text)
        hint = "see the logs of the head, in /tmp/ray/session_latest/logs"
        if error.code in (401, 403):
            hint = "set the option token_file to a file with the token of the cluster"
        last = text.splitlines()[-1] if text else error.reason
        return Unavailable(f"the Ray cluster at {self.address} answered {error.code}: {last}", hint)

    def _authorization(self) -> dict[str, str]:
        if self.token_file is None:
            return {}
        try:
            return {"Authorization": f"Bearer {Path(self.token_file).expanduser().read_text().strip()}"}
        except OSError as error:
            raise Unavailable(
                f"the token of the Ray cluster cannot be read: {error}", "correct the option token_file"
            ) from None


@functools.lru_cache(maxsize=64)
def _version(head: Head) -> tuple[int, ...]:
    text = head.version()
    if (match := re.match(r"(\d+)\.(\d+)", text)) is None:
        raise Unavailable(f"{head.address} answers with the Ray version {text!r}", "see whether it is a Ray cluster")
    return tuple(map(int, match.groups()))


def host_of(address: object) -> str:
    return urlsplit(str(address)).hostname or ""


def first_line(message: str) -> str | None:
    """Return the beginning of a message of Ray: the rest is often a traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0][:400] if lines else None
