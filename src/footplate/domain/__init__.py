"""Pure values and decisions: no files, no sockets, no clock. Time and ids come in as arguments.

Standard library only, Python ≥ 3.8, because a training script may import it through the SDK.

Runs
    specs              the request that a client sends, and its checks
    records            the state that the server keeps and the API returns
    runs/              kinds, events, lifecycle, outcomes, restarts, and the seam for controllers of groups
    tuning/            sweeps: search spaces and early termination
    pipelines/         steps that hand data to each other, and what makes their results reusable
    serving/           web services: endpoints, rollouts, replicas, the files of gateway and workers
    access/            people of a team server, their roles and tokens, the audit log
    requests, replies  bodies of the HTTP API that are not records
Nodes
    orders             what a node agent is to do and what it reports
    launch             the ranks of a run: which process starts where, with which variables
    azure_variables    environment variables that Azure ML scripts expect
    inherited_variables  variables of the server that jobs and builds inherit
    queue              which waiting runs start now
    scaling            how many nodes a cluster has
    shapes             machine sizes by name
    targets            the name of the local compute target
    gpus               which node and which rank gets which GPU
    node_kinds         what can be installed on a node, and what a target knows about its nodes
    shipments          news of a node in one request
    stacks             stack traces of a run's processes
    locks              contents of environment locks, and their differences
Data
    data               stores and the entries that they list
    datasets           datastores, datasets, inputs and outputs of runs
    store_names        safe file names and patterns
    tables             definitions of tables, and filters
Text
    text               durations, sizes, columns of a terminal, filters by tag in a query
JSON
    codec              dataclasses to JSON and back
    floats             NaN and infinities in JSON
"""
