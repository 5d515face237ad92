from __future__ import annotations

from footplate.lazy import lazy_names
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.models.packaging import ModelPackage
else:
    __getattr__, __dir__ = lazy_names(__name__, {"ModelPackage": "footplate.sdk.models.packaging"})

__all__ = ["InferenceConfig", "Model", "ModelPackage"]
