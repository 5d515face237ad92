"""Compute targets.

    targets     ComputeTarget, AmlCompute: clusters of a workspace
    instance    ComputeInstance: a cluster of one node
    on_demand   runs that name a VM size instead of a cluster
    cloud       compute classes that exist only on Azure
    checking    `footplate compute check`; covered by `tests/e2e/test_namespace_engine.py`
    node_probe  the script that it runs on the nodes

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
