"""`ModelDataCollector` of `azureml.monitoring`: rows that a scoring script keeps, in CSV files of the workspace.

The gateway decides for each request whether it is collected (`collect_model_data`), so all rows of one request are kept
or none of them. The files are those of Azure, below `modeldata` in the workspace's datastore:

    <subscription>/<group>/<workspace>/<service>/<model>/<version>/<designation>/<year>/<month>/<day>/<name>.csv
"""

from __future__ import annotations

import csv
import datetime
import io
import os
import re
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, cast

from footplate.disk import FileLock, write_all
from footplate.domain.serving.worker_config import WorkerConfig
from footplate.serving.worker.messages import ScoreRequest

DEFAULT = "default"
MINUTES_A_FILE = 24 * 60
EXTRA = (
    "$aml_dc_correlation_id", "$aml_dc_scoring_timestamp", "$aml_dc_boundary", "$aml_workspace", "$aml_service_name",
    "$aml_model_name", "$aml_model_version", "$aml_request_id",
)  # fmt: skip
"""Columns behind the features, with Azure's names."""

_NAMED = ("signals", "general")
_UNSAFE = re.compile(r"[^\w.\-]|^\.+$")


class KeptRows(NamedTuple):
    """Rows for a file below `modeldata`, as CSV; `header` begins a file that is new."""

    path: str
    header: str
    rows: str


@dataclass
class Service:
    """The service of this process, and the request that its script answers now: a worker answers one at a time."""

    folder: str = ""
    workspace: str = ""
    name: str = ""
    versions: Dict[str, str] = field(default_factory=lambda: {})
    request: Optional[ScoreRequest] = None
    has_warned: bool = False
    outbox: Optional[List[KeptRows]] = None  # on another machine: rows that go to the gateway with the next answer

    def configure(self, config: WorkerConfig) -> None:
        """Take the configuration of the worker."""
        self.folder = config.model_data or ""
        self.outbox = None if self.folder or config.socket else []
        self.workspace = config.workspace_path or config.workspace
        self.name = config.service
        self.versions = {model.name: str(model.version) for model in config.models}

    def take_outbox(self) -> List[KeptRows]:
        """Return the rows that the gateway is to write, and forget them."""
        rows = self.outbox or []
        if rows:
            self.outbox = []
        return rows

    def warn(self, message: str) -> None:
        """Print a message to the service's log, once: requests come by the thousand."""
        if not self.has_warned:
            self.has_warned = True
            sys.stderr.write(f"{message}\n")


SERVICE = Service()


class ModelDataCollector:
    """Keeps the inputs and predictions of a scoring script in CSV files, by day.

    Nothing is kept unless the service was deployed with `collect_model_data=True`.

    Args:
        model_name: The name of the model.
        designation: The kind of the data, such as `inputs`, `predictions` or `labels`: a part of the path, and the
            name of the file.
        feature_names: The header of the file. Without it, the columns of a data frame, or numbers from 0.
        workspace: A part of the path; the service fills it in.
        webservice_name: Likewise.
        model_version: Likewise.
        collection_name: The name of the file, for the designations `signals` and `general`.
        identifier: The name of `designation` in old versions.

    Raises:
        ValueError: A name is empty, or not a string.

    Example:
        inputs = ModelDataCollector("points", designation="inputs", feature_names=["x", "y"])
        inputs.collect([[1.0, 2.0]])
    """

    def __init__(
        self,
        model_name: str,
        designation: str = DEFAULT,
        feature_names: Optional[Sequence[str]] = None,
        workspace: str = "default/default/default",
        webservice_name: str = DEFAULT,
        model_version: str = DEFAULT,
        collection_name: str = DEFAULT,
        identifier: Optional[str] = None,
    ) -> None:
        self.model_name = _check_name("model_name", model_name)
        self.designation = _check_name("designation", identifier if identifier is not None else designation)
        self.feature_names = _names(feature_names)
        self.collection_name = _check_name("collection_name", collection_name)
        self.workspace = SERVICE.workspace or workspace
        self.webservice_name = SERVICE.name or webservice_name
        self.model_version = SERVICE.versions.get(model_name) or str(model_version)
        if model_name not in SERVICE.versions and len(SERVICE.versions) == 1:  # scripts often use names of their own
            (self.model_version,) = SERVICE.versions.values()

    def collect(self, input_data: Any, user_correlation_id: str = "") -> Dict[str, str]:
        """Append rows to the file of today (UTC).

        A row that cannot be written is lost, and the service's log has the reason; the request does not fail.

        Args:
            input_data: A data frame, an array, or a list: of rows, or of values. Values are one row if there are as
                many of them as feature names, and otherwise one column.
            user_correlation_id: An id that the rows have in common with other data; a new one by default.

        Returns:
            `status`, which is `collected` or the reason why nothing was kept, and `id`, the correlation id.

        Raises:
            ValueError: The data is not rows or values, or the number of columns differs from `feature_names`.
        """
        correlation = str(user_correlation_id or uuid.uuid4())
        header, rows = _table(input_data, self.feature_names)
        request = SERVICE.request
        if not SERVICE.folder and SERVICE.outbox is None:
            SERVICE.warn("ModelDataCollector keeps nothing here: only web services of a workspace do")
            return {"status": "not a web service", "id": correlation}
        if request is None or not request.collect:
            return {"status": "not enabled", "id": correlation}
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp = now.replace(tzinfo=None).isoformat()
        request_id = request.headers.get("x-request-id", "")
        about = [correlation, stamp, MINUTES_A_FILE, self.workspace, self.webservice_name, self.model_name,
                 self.model_version, request_id]  # fmt: skip
        collected = KeptRows(self._path(now), _csv([[*header, *EXTRA]]), _csv([[*row, *about] for row in rows]))
        try:
            if SERVICE.outbox is not None:
                SERVICE.outbox.append(collected)
            else:
                append_rows(SERVICE.folder, collected)
        except OSError as error:
            SERVICE.warn(f"ModelDataCollector cannot keep {self.designation} of {self.model_name}: {error}")
            return {"status": f"not written: {error}", "id": correlation}
        return {"status": "collected", "id": correlation}

    def _path(self, now: datetime.datetime) -> str:
        name = self.collection_name if self.designation in _NAMED else self.designation
        parts = [*self.workspace.split("/"), self.webservice_name, self.model_name, self.model_version,
                 self.designation, f"{now:%Y}", f"{now:%m}", f"{now:%d}", f"{name}.csv"]  # fmt: skip
        return os.path.join(*(_UNSAFE.sub("_", part) for part in parts))


def _check_name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is {value!r}\nhint: give a name")
    return value


def _names(names: Any) -> Optional[List[str]]:
    if isinstance(names, str):
        raise ValueError(f"feature_names is {names!r}\nhint: give a list of names")
    return None if names is None else [str(name) for name in names]


def _table(data: Any, names: Optional[List[str]]) -> Tuple[List[str], List[List[Any]]]:
    """Return the header and the rows of a data frame, an array or a list."""
    if hasattr(data, "toPandas"):
        data = data.toPandas()
    if hasattr(data, "itertuples"):
        rows = [list(row) for row in data.itertuples(index=False, name=None)]
        return _check_columns([str(column) for column in data.columns], rows, names)
    if hasattr(data, "tolist"):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        data = [data] if isinstance(data, (int, float)) else _refuse(data)
    rows = _rows(data, names)
    return _check_columns([str(number) for number in range(max(map(len, rows), default=0))], rows, names)


def _rows(values: Any, names: Optional[List[str]]) -> List[List[Any]]:
    if any(isinstance(each, dict) for each in values):
        return _refuse(values)
    if any(isinstance(each, (list, tuple)) or hasattr(each, "tolist") for each in values):
        return [_row(each) for each in values]
    return [list(values)] if names is not None and len(names) == len(values) else [[each] for each in values]


def _row(value: Any) -> List[Any]:
    plain: Any = value.tolist() if hasattr(value, "tolist") else value
    return list(cast("Sequence[Any]", plain)) if isinstance(plain, (list, tuple)) else [plain]


def _refuse(data: Any) -> Any:
    raise ValueError(
        f"input_data is {repr(data)[:100]}\nhint: give a data frame, an array, or a list of rows or values"
    )


def _check_columns(
    columns: List[str], rows: List[List[Any]], names: Optional[List[str]]
) -> Tuple[List[str], List[List[Any]]]:
    header = columns if names is None else names
    wrong = next((row for row in rows if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(
            f"a row of input_data has {len(wrong)} values, but there are {len(header)} columns: {', '.join(header)}\n"
            "hint: give one name for each column in feature_names"
        )
    return header, rows


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def append_rows(folder: str, kept: KeptRows) -> None:
    """Add rows to a file that other replicas write to as well; the first one writes the header."""
    path = os.path.join(folder, kept.path)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with FileLock(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as lock:
        lock.take()
        header = kept.header if os.fstat(lock.file).st_size == 0 else ""
        write_all(lock.file, (header + kept.rows).encode("utf-8"))
