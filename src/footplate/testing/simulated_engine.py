"""An engine that starts nothing: it queues any number of agents, counts its calls and reports what a test orders.

A test plays the agents through the API, or they never start. Engine and test share a folder, the target's option
`folder`; its journal survives the server. settings.ini registers the engine:
`[engines] simulated = footplate.testing.simulated_engine:SimulatedEngine`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from footplate.domain.codec import from_json, to_json
from footplate.engines.base import AgentJob, LaunchRequest, Observation
from footplate.errors import InvalidInput

QUEUED = Observation("queued", reason="Waits for nodes of the simulated cluster")
"""How agents are seen after their submission."""


class SimulatedCluster:
    """The journal of one folder: what the engine was asked for, and what tests have ordered. Any thread may use it."""

    def __init__(self, folder: str | Path) -> None:
        self._path = Path(folder) / "journal.jsonl"
        self._guard = threading.Lock()
        self._offset = 0
        self._seen: dict[str, Observation] = {}
        self._handles: dict[str, str] = {}  # of the last attempt of each run
        self._jobs: dict[str, dict[str, Any]] = {}
        self._calls: Counter[str] = Counter()

    # ── For tests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def order(self, runs: Iterable[str], seen: Observation) -> None:
        """Have the engine see the agents of these runs like this."""
        self.write([{"run": run, "seen": to_json(seen)} for run in runs])

    def calls(self) -> Counter[str]:
        """Return how often each method of the engine was called."""
        with self._guard:
            self._read()
            return Counter(self._calls)

    def job(self, run: str) -> dict[str, Any]:
        """Return the fields of the AgentJob of the run's last attempt; `token` lets a test act as its agents."""
        with self._guard:
            self._read()
            return self._jobs[self._handles[run]]

    # ── For the engine ────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, lines: Iterable[dict[str, Any]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "ab", buffering=0) as file:  # one write, so that lines of two processes never mix
            file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def observe(self, handles: Iterable[str]) -> dict[str, Observation]:
        with self._guard:
            self._read()
            return {handle: replace(self._seen[handle]) for handle in handles if handle in self._seen}

    def _read(self) -> None:
        if not self._path.exists():
            return
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if "seen" in line:
            seen = from_json(Observation, line["seen"])
            # JSON has only text as keys.
            codes = {int(node): code for node, code in seen.codes.items()}
            places = {int(node): place for node, place in seen.places.items()}
            self._seen[self._handles[line["run"]]] = replace(seen, codes=codes, places=places)
            return
        call = line["call"]
        handle = line.get("handle", "")
        self._calls[call] += 1
        if call == "submit":
            self._jobs[handle] = line["job"]
            self._handles[line["job"]["run"]] = handle
            if _is_over(self._seen.get(handle)):
                self._seen[handle] = QUEUED
        elif call == "cancel" and handle in self._seen:
            self._seen[handle] = Observation("exited", dict.fromkeys(range(self._jobs[handle]["node_count"]), 143))
        elif call == "forget" and _is_over(self._seen.get(handle)):
            self._seen.pop(handle, None)


class SimulatedEngine:
    name = "simulated"
    shares_home = True
    options: Mapping[str, str] = {"folder": "directory that the engine shares with the test"}

    def __init__(self) -> None:
        self._clusters: dict[str, SimulatedCluster] = {}

    def node_shape(self) -> None:
        return None

    def prepare(self, job: AgentJob) -> LaunchRequest:
        if job.node_count < 1:
            raise InvalidInput(f"node_count is {job.node_count}", "give 1 or more")
        if not job.options.get("folder"):
            raise InvalidInput("the compute target has no option 'folder'", self.options["folder"])
        return LaunchRequest(self.name, job.run, job.attempt, {"job": asdict(job)})

    def submit(self, request: LaunchRequest) -> str:
        folder = str(request.body["job"]["options"]["folder"])
        handle = f"{request.run}/{request.attempt}@{folder}"
        self._cluster(folder).write([{"call": "submit", "handle": handle, "job": request.body["job"]}])
        return handle

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        by_folder: dict[str, list[str]] = {}
        for handle in handles:
            by_folder.setdefault(_folder(handle), []).append(handle)
        seen = dict.fromkeys(handles, Observation("gone"))
        for folder, there in by_folder.items():
            if folder:
                self._cluster(folder).write([{"call": "poll", "handles": len(there)}])
                seen.update(self._cluster(folder).observe(there))
        return seen

    def cancel(self, handle: str, grace: float) -> None:
        if folder := _folder(handle):
            self._cluster(folder).write([{"call": "cancel", "handle": handle}])

    def forget(self, handle: str) -> bool:
        folder = _folder(handle)
        if not folder:
            return True
        self._cluster(folder).write([{"call": "forget", "handle": handle}])
        return handle not in self._cluster(folder).observe([handle])

    def _cluster(self, folder: str) -> SimulatedCluster:
        return self._clusters.setdefault(folder, SimulatedCluster(folder))


def _folder(handle: str) -> str:
    return handle.partition("@")[2]


def _is_over(seen: Observation | None) -> bool:
    return seen is None or seen.state in ("exited", "gone")
