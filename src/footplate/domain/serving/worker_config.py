"""The configuration of a worker, `config.json`: the server or `serving.standalone` writes it, and the worker reads it.

All replicas of a version share one file: `{replica}` in the path of the socket stands for the replica's number.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Optional, Tuple

from footplate.domain.codec import from_json, to_json


@dataclass(frozen=True)
class ServedModel:
    """One model of a version. A relative `path` begins at the folder of the configuration."""

    name: str
    version: int
    path: str
    framework: Optional[str] = None
    framework_version: Optional[str] = None
    signature: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class WorkerConfig:
    """What one worker serves. Without a `socket` it is on another machine than the gateway.

    `options` has the limits `cpu_cores`, `memory_gb` and `gpus`. `model_root` is the folder of `azureml-models`, and
    `model_data` the one for rows that scripts collect. Scripts may know their folder by `source_name`.
    """

    service: str
    version: str
    workspace: str = ""
    workspace_path: str = ""
    models: Tuple[ServedModel, ...] = ()
    entry_script: Optional[str] = None
    source: Optional[str] = None
    source_name: Optional[str] = None
    model_root: Optional[str] = None
    options: Dict[str, Any] = field(default_factory=lambda: {})
    model_data: Optional[str] = None
    socket: Optional[str] = None

    def encode(self) -> bytes:
        return json.dumps(to_json(self)).encode()

    @staticmethod
    def decode(text: bytes, folder: str) -> WorkerConfig:
        """Return the configuration that is in `folder`, with absolute paths of models."""
        config = from_json(WorkerConfig, json.loads(text))
        models = tuple(replace(model, path=posixpath.join(folder, model.path)) for model in config.models)
        root = None if config.model_root is None else posixpath.join(folder, config.model_root)
        return replace(config, models=models, model_root=root)
