"""The run of a script that was started by hand: it prints what it would have recorded, and keeps nothing.

It has these methods and no others. Scripts ask `hasattr(run, "experiment")`, or catch the AttributeError, to find out
whether they run under a platform.
"""

from __future__ import annotations

import uuid
from typing import Any, Dict, List, Optional


class OfflineRun:
    def __init__(self, run_id: Optional[str] = None) -> None:
        self.id = run_id or f"OfflineRun_{uuid.uuid4()}"

    def add_properties(self, properties: Dict[str, Any]) -> None:
        print(f"Attempted to add properties:\n{properties}")

    def set_tags(self, tags: Dict[str, Any]) -> None:
        print(f"Attempted to set tags:\n{tags}")

    def tag(self, key: str, value: Optional[str] = None) -> None:
        print(f"Attempted to add tag {key}:\n{value}")

    def complete(self, **kwargs: Any) -> None:
        print("Attempted to complete the run")

    def fail(self, error_details: Any = None, error_code: Any = None, **kwargs: Any) -> None:
        print(f"Attempted to fail the run:\n{error_details}")

    def cancel(self) -> None:
        print("Attempted to cancel the run")

    def log(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log scalar metric {name}:\n{value}")

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log list metric {name}:\n{list(value)}")

    def log_table(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log table metric {name}:\n{value}")

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        print(f"Attempted to log row metric {name}:\n{kwargs}")

    def log_image(self, name: str, path: Optional[str] = None, plot: Any = None, description: str = "") -> None:
        print(f"Attempted to log image {name}:\n{path if path is not None else plot}")

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log residuals {name}:\n{value}")

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log predictions {name}:\n{value}")

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log accuracy table {name}:\n{value}")

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        print(f"Attempted to log confusion matrix {name}:\n{value}")

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        print(f"Attempted to track folder {name} at {path}")

    def upload_files(self, names: List[str], paths: List[str], **kwargs: Any) -> None:
        for name, path in zip(names, paths):
            print(f"Attempted to track file {name} at {path}")

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: Optional[str] = None) -> None:
        print(f"Attempted to track file {name} at {path_or_stream}")

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Any = None) -> OfflineRun:
        return OfflineRun(f"{self.id}.{name or uuid.uuid4()}")

    def flush(self, timeout_seconds: float = 300) -> None:
        print("Attempted to flush")

    def __enter__(self) -> OfflineRun:
        print(f"[START] Run {self.id} context")
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        print(f"[END] Run {self.id} context")


OfflineRun.__name__ = OfflineRun.__qualname__ = "_OfflineRun"  # the name that scripts know it by
