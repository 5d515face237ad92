"""Everything that a node agent sends to the server.

- `server_link`: the agent's calls, retried for as long as the server is away.
- `reporting`: the thread that reports events and heartbeats, and ships while the ranks run.
- `shipper`: which logs and journals of the node are shipped, and how often (with `footplate.growing_files`).
- `log_limit`: cut logs of web services that are too large.
- `disk_wait`: full disks: waits that are recorded and limited, and the disk of the node itself.
- `output_files`: collect `./outputs` when the ranks have ended.
- `direct_upload`: send a large file straight to the server's object store, or through a shared directory.
- `checkpoints`: save `./checkpoints` while the ranks run, and restore it for the next attempt.
- `file_completion`: find out from the kernel's events which files are complete (with `file_events`).
- `salvage`: ship what an earlier attempt with a lost agent left.
"""
