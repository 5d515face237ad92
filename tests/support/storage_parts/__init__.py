"""Parts of the contract of the server's storage, which `storage_suite` joins.

content_suite    the content of runs: files, logs and metrics
data_suite       datastores, datasets and lineage
runs_suite       runs: records, histories, labels and queries
upkeep_suite     deletion of runs and workspaces, and of content that nothing refers to
fixtures         values for all of them
"""
