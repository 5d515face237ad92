"""The only code that knows how the server keeps data: the database, and the directories of logs, journals and blobs.

`store.Storage` is the entry point. Values are the frozen dataclasses of `domain/`; no code above this package sees
SQL, a row or the path of a file. Every error that leaves it is ours (`database_errors`).

- `database`, `migrate`, `schema`, `column_types`: connections, revisions, tables and their types.
- `workspaces`, `runs`, `queries/`, `run_keys`, `labels`: runs, how to find them, and the active ones in memory.
- `run_files`, `logs`: files of runs, and logs as they grow.
- `object_records`: blobs whose content is in an object store.
- `series/`: metric journals and their summaries.
- `tracking/`: runs as other trackers search and log them, logged models and names of registered models.
- `models`, `datasets`, `datastores`, `lineage`, `registry`: everything that is registered.
- `secrets`: everything that is kept encrypted.
- `access/`: people, roles, tokens, sessions, and the audit log.
- `paths`: names from outside that become names on disk.
- `log_reading/`: pages of logs, and searches in them.
- `upkeep/`: a check of everything, the deletion of runs, and of blobs that nothing refers to.
"""

from footplate.storage.runs import RunQuery
from footplate.storage.store import Storage

__all__ = ["RunQuery", "Storage"]
