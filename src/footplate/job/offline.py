"""The run of a script that was started by hand: it prints values instead of recording them.

It has these methods and no others. To find out whether they run under a platform, scripts use
`hasattr(run, "experiment")`, compare the type with `_OfflineRun` or catch the AttributeError. `log` takes no step.
"""

from __future__ import annotations

import uuid
from typing import Any, Dict, List, Optional, cast


class _OfflineRun:
    def __init__(self, run_id: Optional[str] = None) -> None:
        self._id = run_id or f"OfflineRun_{uuid.uuid4()}"

    @property
    def id(self) -> str:
        return self._id

    def add_properties(self, properties: Dict[str, Any]) -> None:
        for key, value in properties.items():
            print(f"Attempted to add property {key}:\n{value}")

    def set_tags(self, tags: Dict[str, Any]) -> None:
        for key, value in tags.items():
            self.tag(key, value)

    def tag(self, key: str, value: Optional[str] = None) -> None:
        print(f"Attempted to add tag {key}:\n{value}")

    def complete(self, _set_status: bool = True) -> None:
        print(f"Attempted to complete run {self._id}")

    def fail(self, error_details: Any = None, error_code: Any = None, _set_status: bool = True) -> None:
        print(f"Attempted to fail run {self._id}:\n{error_details}")

    def cancel(self) -> None:
        print(f"Attempted to cancel run {self._id}")

    def log(self, name: Any, value: Any = None, description: str = "") -> None:
        if isinstance(name, dict):
            for each, one in cast("Dict[str, Any]", name).items():
                self._print_attempt("scalar", each, one)
        else:
            self._print_attempt("scalar", name, value)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("list", name, value)

    def log_table(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("table", name, value)

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        self._print_attempt("row", name, kwargs)

    def log_image(self, name: str, path: Optional[str] = None, plot: Any = None, description: str = "") -> None:
        self._print_attempt("image", name, plot if path is None else path)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("residuals", name, value)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("predictions", name, value)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("accuracy table", name, value)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        self._print_attempt("confusion matrix", name, value)

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        print(f"Attempted to track folder {name} at {path}")

    def upload_files(
        self,
        names: List[str],
        paths: List[str],
        return_artifacts: bool = False,
        timeout_seconds: Optional[float] = None,
        datastore_name: Optional[str] = None,
    ) -> None:
        for name, path in zip(names, paths):
            self.upload_file(name, path)

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: Optional[str] = None) -> None:
        print(f"Attempted to track file {name} at {path_or_stream}")

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Any = None) -> _OfflineRun:
        return _OfflineRun(f"{self._id}.{name or uuid.uuid4()}")

    def flush(self, timeout_seconds: float = 300) -> None:
        return None

    def _print_attempt(self, kind: str, name: str, value: Any) -> None:
        print(f"Attempted to log {kind} metric {name}:\n{value}")

    def __enter__(self) -> _OfflineRun:
        print(f"[START] Run {self._id} context")
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        print(f"[END] Run {self._id} context")


OfflineRun = _OfflineRun
"""The same class, for callers that may not import a private name."""
