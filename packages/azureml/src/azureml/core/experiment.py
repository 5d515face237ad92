from __future__ import annotations

from footplate.sdk.runs.experiment import Experiment

__all__ = ["Experiment"]
