"""Data access: stores of all kinds, transfers that can be resumed, a cache, mounts, tables.

    stores/       one `FileStore` per kind: list · children · stat · read · stream · put · delete; `open_store`, `find`
    transfer/     upload and download of many files; large files by blocks and parts
    cache         remote files by content, least recently used evicted first; `cache_limit` reads its size from settings
    mounts/       data as a folder of this machine, unmounted however its owner ends
    resolve       a dataset's definition → its current files; `partitions` reads columns from paths
    changes       a pinned listing compared with the present files
    inputs        a dataset as a file or folder for a script
    outputs       files that a run writes, uploaded while it runs
    tabular/      tables on Arrow
    worker        the operations above for the SDK: in its own process, or inside a job as a child process

Runs on clients, nodes and servers, on Python ≥ 3.10. Local folders and HTTP(S) need only the standard library; object
stores, FUSE and tables need the extra `data`, which is imported on first use. Nothing is imported here, because a
mount's supervisor must start fast.
"""
