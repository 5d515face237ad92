from __future__ import annotations

from footplate.sdk.model import Model
from footplate.sdk.web_services import InferenceConfig

__all__ = ["InferenceConfig", "Model"]
