"""The store as a whole."""

from __future__ import annotations

from pathlib import Path

from footplate.content.blobs import BlobFolder
from footplate.errors import Broken
from footplate.storage import migrate
from footplate.storage.access.access_tokens import AccessTokens
from footplate.storage.access.audit import AuditLog
from footplate.storage.access.people import People, Roles, ServerState
from footplate.storage.access.sessions import Sessions
from footplate.storage.database import Database
from footplate.storage.database_errors import translated
from footplate.storage.datasets import DatasetTable
from footplate.storage.datastores import Datastores
from footplate.storage.lineage import LineageTable
from footplate.storage.log_reading.log_reader import LogReader
from footplate.storage.logs import Logs
from footplate.storage.models import Models
from footplate.storage.object_records import ObjectRecords
from footplate.storage.queries.run_fields import RunFields
from footplate.storage.registry import Computes, Endpoints, Environments, Locks
from footplate.storage.run_files import RunFiles
from footplate.storage.run_keys import RunKeys
from footplate.storage.runs import Runs
from footplate.storage.secrets import LoginFile, Seal, Secrets
from footplate.storage.series.metrics import Metrics
from footplate.storage.tracking.labels import RunLabels
from footplate.storage.tracking.logged_models import LoggedModels
from footplate.storage.tracking.registered_models import RegisteredModels
from footplate.storage.tracking.tracked_runs import TrackedRuns
from footplate.storage.upkeep.deletion import RunDeletion, WorkspaceDeletion
from footplate.storage.workspaces import Experiments, Workspaces


class Storage:
    """Everything that the server keeps. It is opened once; any thread may call any method of its parts."""

    def __init__(self, home: Path, database: Database) -> None:
        keys, seal = RunKeys(database), Seal(home)
        self.home = home
        self.database = database
        self.workspaces = Workspaces(database)
        self.experiments = Experiments(database)
        self.runs = Runs(database, keys)
        self.run_fields = RunFields(database)
        self.run_labels = RunLabels(database, keys)
        self.tracked_runs = TrackedRuns(database, keys)
        self.logged_models = LoggedModels(database)
        self.registered_models = RegisteredModels(database)
        self.files = RunFiles(database, keys)
        self.logs = Logs(home, keys)
        self.log_reader = LogReader(self.logs)
        self.metrics = Metrics(home, database, keys)
        self.deletion = RunDeletion(home, database, keys, self.metrics)
        self.models = Models(database)
        self.computes = Computes(database)
        self.environments = Environments(database)
        self.locks = Locks(database)
        self.secrets = Secrets(database, seal)
        self.sessions = Sessions(database)
        self.people = People(database)
        self.roles = Roles(database)
        self.access_tokens = AccessTokens(database)
        self.audit = AuditLog(database)
        self.server_state = ServerState(database)
        self.endpoints = Endpoints(database, seal)
        self.logins = LoginFile(home, seal)
        self.object_records = ObjectRecords(home)
        self.datastores = Datastores(home, database, seal, self.object_records.namespace)
        self.workspace_deletion = WorkspaceDeletion(database, self.deletion, self.datastores)
        self.datasets = DatasetTable(database)
        self.lineage = LineageTable(database, keys)
        self.blobs = BlobFolder(str(home / "blobs"))

    @classmethod
    def open(cls, home: Path, database: str | None = None) -> Storage:
        """Open the store of this home; create or migrate it if needed. `database`: an address, None for SQLite."""
        with translated():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Clients on this machine write blobs directly into it, if they can see it before the first blob exists.
            (home / "blobs").mkdir(mode=0o700, exist_ok=True)
        opened = Database(database or home / "footplate.db")
        try:
            if database is None:
                check_not_lost(opened, home)
            migrate.bring_up_to_date(opened, home)
            store = cls(home, opened)
            store.metrics.catch_up()
        except BaseException:
            opened.close()
            raise
        return store

    def close(self) -> None:
        self.database.close()


def check_not_lost(database: Database, home: Path) -> None:
    """Raise Broken for an empty database in a home that has runs: a new one would hide them all."""
    with database.read() as connection:
        if migrate.revision_of(connection) is not None:
            return
    if next((home / "runs").glob("*/"), None) is not None:
        raise Broken(
            f"{home / 'footplate.db'} is empty or missing, but {home / 'runs'} has runs",
            f"restore footplate.db from a backup; to start anew, move {home} away",
            path=str(home / "footplate.db"),
        )
