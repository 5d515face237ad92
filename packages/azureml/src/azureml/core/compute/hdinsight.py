from footplate.sdk.compute.cloud import HDInsightCompute

__all__ = ["HDInsightCompute"]
