"""Compute targets.

    targets     ComputeTarget, AmlCompute: clusters of a workspace
    configurations, default_cluster         what users pass and read: sizes, engines, states
    local_target            the server's own machine
    requests    requests about clusters, after a check of what the user passed
    instance    ComputeInstance: a cluster of one node
    cloud       compute classes that exist only on Azure
    node_probe  the script that `footplate compute check` runs on the nodes

`tests/e2e/test_clusters.py` covers clusters on a server.
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.compute import instance as instance
    from footplate.sdk.compute import targets as targets
else:
    __getattr__ = lazy_submodules(__name__)
