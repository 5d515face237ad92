"""The only code that knows how the server keeps things: the database, and the folders of logs, journals and blobs.

`Storage` is the entry point. Values are the frozen dataclasses of `domain/`; nothing above this room sees
SQL, a row or the path of a file. All errors that leave here are ours (`faults`).
"""

from footplate.storage.runs import RunQuery
from footplate.storage.store import Storage

__all__ = ["RunQuery", "Storage"]
