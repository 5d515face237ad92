"""What tests share: clusters, networks, servers, registries and other parts of the world outside, and helpers.

namespace_engine    an engine whose nodes are network namespaces; networks joins them by a bridge
slurm_cluster       a Slurm cluster on such a network; ssh_server is a way in
ray_cluster         a Ray cluster: a head and workers in such namespaces
cluster_runs        runs that tests submit to clusters; cluster_services, the same for web services
servers             real servers for data: Azurite, rclone, moto, and our own; azure_requests prepares Azurite
web_server          a web server that misbehaves on request
cutting_proxy       a proxy that cuts connections
postgres            a PostgreSQL server
images              podman or docker with its own storage, and an image with Python
registries          a container registry with a password
indexes             a package index
conda_channel       a conda channel
recipes, wheels     generated source archives and wheels
interpreters        the Pythons of this machine
ops_tools           runs to break, and ways to break them
table_tools         small tables
storage_suite       the contract of the server's storage, run on every database; storage_parts holds its parts
fixtures            pytest fixtures of the servers above

Suites for engines, stores and builders of others are in `footplate.testing`.
"""
