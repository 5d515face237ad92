"""Ship growing files to the server by byte offset: the one implementation, used by the node agent and by the SDK.

The server skips bytes that it has and refuses a gap, so a repeated or interrupted request changes nothing.

- `offsets`: the server as a shipper sees it, and how both sides agree on an offset.
- `logs`: text files that grow, and that may be truncated or replaced.
- `journals`: metric journals, text before the slots that point to it.

`node.delivery` and `sdk.runs.shipping` decide which files to ship, and when.
"""
