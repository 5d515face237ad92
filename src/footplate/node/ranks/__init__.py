"""The ranks of a node, which are the processes of the user.

- `rank_start`: prepare the node, wait for the others, and start the ranks.
- `rank_watch`: watch the ranks until they have ended, or end them.
- `rank_group`: all ranks of the node: start, adopt, watch, end.
- `rank_process`: one process: start, watch, find again.
- `rank_environment`: compose argv and variables of a rank.
- `containers`: ranks in containers.
- `failure_causes`: explain why a rank ended.
"""
