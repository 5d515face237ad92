from __future__ import annotations

from footplate.sdk.experiment import Experiment

__all__ = ["Experiment"]
