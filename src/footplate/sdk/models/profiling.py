"""`Model.profile`: deploy models for a moment, send sample requests, and recommend CPUs and memory."""

from __future__ import annotations

import http.client
import math
import time
import uuid
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, cast
from urllib.parse import urlsplit

from footplate.sdk.exceptions import UserErrorException, WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models import deploying
from footplate.sdk.models.deployment_configuration import AksServiceDeploymentConfiguration
from footplate.sdk.models.webservice import Webservice, service_of
from footplate.sdk.values.timestamps import utc_text
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.models.registered_model import RegisteredModel as Model

LEAST_QUERIES = 100
LEAST_SECONDS, MOST_SECONDS = 4.0, 60.0  # the machine is sampled about each second
SAMPLE_SECONDS = 30.0
RESERVE = 1.25
"""How much more than a service used is recommended."""

_MEMORY, _CPU = "process_tree_rss_bytes", "process_tree_cpu_cores"
_PERCENTILES = {"50": 50.0, "90": 90.0, "95": 95.0, "99": 99.0, "999": 99.9}


@explained
class ModelProfile:
    """The result of `Model.profile`: latencies, the resources that were used, and those that are recommended.

    Args:
        workspace: The workspace.
        name: The name of the result.
        details: The figures under Azure's names.

    Example:
        def measure(model: Model) -> None:
            profile = Model.profile(ws, "first", [model], input_dataset='{"data": [[1, 2]]}')
            profile.wait_for_completion(show_output=True)
            print(profile.get_details()["averageLatencyInMs"])
    """

    def __init__(self, workspace: Workspace, name: str, details: Dict[str, Any]) -> None:
        self.workspace = workspace
        self.name = name
        self._details = details

    @property
    def state(self) -> str:
        """`Succeeded` or `Failed`."""
        return str(self._details["state"])

    @property
    def recommended_cpu(self) -> Optional[float]:
        """The recommended CPUs, or None."""
        return self._details.get("recommendedCpu")

    @property
    def recommended_memory(self) -> Optional[float]:
        """The recommended memory in GB, or None."""
        return self._details.get("recommendedMemoryInGB")

    def wait_for_completion(self, show_output: bool = False) -> None:
        """Return at once: a profile is complete when `Model.profile` returns. `wait_for_profiling` is the same.

        Args:
            show_output: Whether to print the state.
        """
        if show_output:
            print(self.state)

    wait_for_profiling = wait_for_completion

    def get_details(self) -> Dict[str, Any]:
        """Return the figures under Azure's names. `get_results` and `serialize` are the same.

        Returns:
            A dict.
        """
        return dict(self._details)

    get_results = serialize = get_details

    def __repr__(self) -> str:
        return f"ModelProfile(name={self.name!r}, state={self.state!r})"


def profile(
    workspace: Workspace,
    name: str,
    models: Sequence[Model],
    inference_config: Any,
    samples: Any,
    cpu: Optional[float],
    memory_in_gb: Optional[float],
    description: Optional[str],
) -> ModelProfile:
    """Deploy, measure and delete. A service that does not start raises WebserviceException."""
    bodies = _bodies(samples)
    config = AksServiceDeploymentConfiguration(
        num_replicas=1, auth_enabled=False, cpu_cores=cpu, memory_gb=memory_in_gb, description=description
    )
    temporary = f"profile-{uuid.uuid4().hex[:12]}"
    view = deploying.deploy(workspace, temporary, models, inference_config, config, overwrite=False)
    service = service_of(workspace, view)
    began = time.time()
    try:
        service.wait_for_deployment()
        measured = _measure(service, bodies)
        used = _resources(service) if "error" not in measured else {}
    finally:
        service.delete()
    request = {"requestedCpu": cpu, "requestedMemoryInGB": memory_in_gb, "description": description}
    request = {key: value for key, value in request.items() if value is not None}
    details = {"name": name, "createdTime": utc_text(began), **request, **measured, **used}
    return ModelProfile(workspace, name, details)


def _bodies(samples: Any) -> List[bytes]:
    """Return the bodies of the requests: rows of a tabular dataset with one column, one text, or several."""
    rows: Any = samples
    if hasattr(samples, "to_pandas_dataframe"):
        frame = samples.to_pandas_dataframe()
        if len(frame.columns) != 1:
            raise UserErrorException(
                f"input_dataset has {len(frame.columns)} columns",
                hint="use a dataset with one column, whose rows are bodies of requests",
            )
        rows = [str(value) for value in frame.iloc[:, 0]]
    elif isinstance(samples, (str, bytes)):
        rows = [samples]
    if not isinstance(rows, (list, tuple)) or not rows:
        raise UserErrorException(
            f"input_dataset is {samples!r}", hint="give a tabular dataset with one column of requests, or a request"
        )
    return [row if isinstance(row, bytes) else str(row).encode() for row in cast("List[Any]", rows)]


# ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _measure(service: Webservice, bodies: Sequence[bytes]) -> Dict[str, Any]:
    """Send each body at least once, one after another, and return the figures."""
    address = urlsplit(str(service.scoring_uri))
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=MOST_SECONDS)
    latencies: List[float] = []
    failed = 0
    problem = ""
    passed = 0.0
    began = time.perf_counter()
    try:
        while not _is_enough(len(latencies) + failed, len(bodies), passed):
            status, answer, seconds = _ask(connection, address.path, bodies[(len(latencies) + failed) % len(bodies)])
            if status == 200:
                latencies.append(seconds)
            else:
                failed += 1
                problem = f"{status}: {answer.decode('utf-8', 'replace')[:500]}"
            passed = time.perf_counter() - began
    except OSError as error:
        raise WebserviceException(
            f"the service stopped answering: {error}", hint="see the run of the service"
        ) from None
    finally:
        connection.close()
    total = len(latencies) + failed
    counts = {"totalQueries": total, "successQueries": len(latencies), "successRate": 100.0 * len(latencies) / total,
              "measuredQueriesPerSecond": total / passed}  # fmt: skip
    if not latencies:
        return {**counts, "state": "Failed", "error": f"no request succeeded; the last answer was {problem}"}
    return {**counts, **latency_figures(latencies), "state": "Succeeded"}


def _is_enough(sent: int, bodies: int, seconds: float) -> bool:
    return seconds >= MOST_SECONDS or (sent >= max(bodies, LEAST_QUERIES) and seconds >= LEAST_SECONDS)


def _ask(connection: http.client.HTTPConnection, path: str, body: bytes) -> Tuple[int, bytes, float]:
    began = time.perf_counter()
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    return response.status, answer, time.perf_counter() - began


def latency_figures(seconds: Sequence[float]) -> Dict[str, float]:
    """Return the mean and the percentiles (nearest rank) in milliseconds under Azure's names."""
    ordered = sorted(seconds)
    figures = {"averageLatencyInMs": 1000.0 * sum(ordered) / len(ordered)}
    for name, percent in _PERCENTILES.items():
        rank = max(1, math.ceil(percent / 100.0 * len(ordered)))
        figures[f"latencyPercentile{name}InMs"] = 1000.0 * ordered[rank - 1]
    return figures


# ── Resources ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _resources(service: Webservice) -> Dict[str, float]:
    """Return what the replica used at most, and the recommendation; wait for the samples of its machine."""
    api = service.workspace.session.api.metrics
    run = service.versions[-1].run
    deadline = time.monotonic() + SAMPLE_SECONDS
    while True:
        series = [one for each in api.read(run, system=True, recursive=True).values() for one in each]
        memory, cores = _highest(series, _MEMORY), _highest(series, _CPU)
        if memory and cores:
            return recommendation(cores, memory / 1e9)
        if time.monotonic() > deadline:
            return {}
        time.sleep(0.5)


def _highest(series: Sequence[Any], name: str) -> float:
    return max((float(value) for one in series if one.name.endswith(name) for *_, value in one.points), default=0.0)


def recommendation(cores: float, memory_gb: float) -> Dict[str, float]:
    """Return the use and the recommendation: a quarter more, rounded up to tenths."""
    return {
        "maxUtilizedCpu": round(cores, 3),
        "maxUtilizedMemoryInGB": round(memory_gb, 3),
        "recommendedCpu": math.ceil(10.0 * cores * RESERVE) / 10.0,
        "recommendedMemoryInGB": math.ceil(10.0 * memory_gb * RESERVE) / 10.0,
    }
