from __future__ import annotations

from footplate.sdk.compute.cloud import HDInsightCompute

__all__ = ["HDInsightCompute"]
