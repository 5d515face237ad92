from __future__ import annotations

from footplate.sdk.estimators.frameworks import SKLearn

__all__ = ["SKLearn"]
