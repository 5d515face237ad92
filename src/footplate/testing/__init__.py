"""Conformance suites and small fakes, shipped so that implementations outside this repository can use them.

engine_suite        the contract of engines, over small programs instead of agents
builder_suite       the contract of environment builders
store_suite         the contract of file stores
storage_suite       the contract of the server's storage; storage_parts holds its parts and their values
namespace_engine    an engine whose nodes are network namespaces; networks joins them by a bridge
simulated_engine    an engine that starts nothing and reports what a test orders
slurm_cluster       a Slurm cluster on such a network; ssh_server is a way in
ray_cluster         a Ray cluster: a head and workers in such namespaces
servers             real servers for data: Azurite, rclone, moto, and our own; azure_requests prepares Azurite
web_server          a web server that misbehaves on request
cutting_proxy       a proxy that cuts connections
postgres            a PostgreSQL server
images              podman or docker with its own storage, and an image with Python
registries          a container registry with a password
indexes             a package index
conda_channel       a conda channel
recipes, wheels     generated source archives and wheels
fixtures            pytest fixtures of the servers above
waiting             wait for a condition

These modules are test code: tests/conformance runs the suites, and tests/e2e uses the servers and fakes.
"""
