"""Compute targets.

targets     ComputeTarget, AmlCompute: clusters of a workspace
configurations, default_cluster         what users pass and read: sizes, engines, states
local_target            the server's own machine
instance    ComputeInstance: a cluster of one node
cloud       compute classes that exist only on Azure
node_probe  the script that `footplate compute check` runs on the nodes
"""
