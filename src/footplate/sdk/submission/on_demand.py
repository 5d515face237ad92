"""Runs that name a VM size instead of a cluster. They share one cluster per size, created for the first of them."""

from __future__ import annotations

import re
from dataclasses import replace

from footplate.domain.specs import RunSpec
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.exceptions import ComputeTargetException, RunConfigurationException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.run_configuration_sections import VM_SIZE_TARGET


def place(workspace: Workspace, spec: RunSpec, config: RunConfiguration) -> RunSpec:
    """Return the spec with the cluster for the size in `config.amlcompute` as its target."""
    size = config.amlcompute.vm_size
    if not size:
        raise RunConfigurationException(
            f"the target is {VM_SIZE_TARGET!r}, but no VM size is set",
            hint="set run_config.amlcompute.vm_size, or use the name of a cluster as the target",
        )
    name = "vm-" + re.sub(r"[^a-z0-9]+", "-", size.lower()).strip("-")
    nodes = spec.distribution.node_count
    try:
        cluster = ComputeTarget(workspace, name)
    except ComputeTargetException:
        sizes = AmlCompute.provisioning_configuration(
            size, config.amlcompute.vm_priority or "dedicated", max_nodes=nodes
        )
        ComputeTarget.create(workspace, name, sizes)
    else:
        if cluster.scale_settings.maximum_node_count < nodes:
            cluster.update(max_nodes=nodes)
    return replace(spec, target=name)
