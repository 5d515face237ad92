"""`Datastore`: access to all datastores of a workspace, of whatever kind."""

from __future__ import annotations

import os
from typing import Optional

from footplate.sdk.data.azure_registrations import AzureRegistrations
from footplate.sdk.data.datastore_kinds import (
    AbstractDatastore,
    FolderDatastore,
    GcsDatastore,
    HttpDatastore,
    S3Datastore,
    SqlDatastore,
)
from footplate.sdk.data.registration import KINDS, check_name, datastore_from_view, register, register_sql
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.wrong_types import explained


@explained
class Datastore(AzureRegistrations):
    """Registers and finds the datastores of a workspace.

    `Datastore(workspace, name)` returns the named datastore as an object of its own class.

    Args:
        workspace: The workspace.
        name: The name; without one, it is the default datastore.

    Raises:
        UserErrorException: There is no such datastore.

    Example:
        print(Datastore(ws, "workspaceblobstore").datastore_type)
        print(Datastore.get(ws, "workspaceblobstore").name, Datastore.get_default(ws).is_default)
    """

    def __new__(cls, workspace: Workspace, name: Optional[str] = None) -> AbstractDatastore:
        return Datastore.get_default(workspace) if name is None else Datastore.get(workspace, name)

    @staticmethod
    def get(workspace: Workspace, datastore_name: str) -> AbstractDatastore:
        """Return a datastore.

        Args:
            workspace: The workspace.
            datastore_name: The name.

        Returns:
            The datastore, as an object of its own class.

        Raises:
            UserErrorException: There is no such datastore.
        """
        return datastore_from_view(
            workspace, workspace.session.api_for(KINDS).datastores.get(workspace.id, check_name(datastore_name))
        )

    @staticmethod
    def get_default(workspace: Workspace) -> AbstractDatastore:
        """Return the default datastore.

        Args:
            workspace: The workspace.

        Returns:
            The datastore, as an object of its own class.
        """
        return datastore_from_view(workspace, workspace.session.api.datastores.default(workspace.id))

    # ── Ours ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def register_sql_database(
        workspace: Workspace,
        datastore_name: str,
        dialect: str,
        database: str,
        host: Optional[str] = None,
        port: Optional[int] = None,
        username: Optional[str] = None,
        password: Optional[str] = None,
        overwrite: bool = False,
    ) -> SqlDatastore:
        """Register a database, for queries. Azure has no such method.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            dialect: `sqlite`, `postgresql`, `mysql` or `mssql`.
            database: The database; for SQLite, its file.
            host: The host.
            port: The port.
            username: A user of the database.
            password: The password.
            overwrite: Whether to replace a datastore of this name.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The dialect is unknown, or the name is taken or not valid.

        Example:
            local = Datastore.register_sql_database(ws, "local_sales", "sqlite", "sales.db")
        """
        place = os.path.abspath(os.path.expanduser(database)) if dialect == "sqlite" else database
        return register_sql(workspace, datastore_name, dialect, place, host, port, username, password, overwrite)

    @staticmethod
    def register_folder(
        workspace: Workspace, datastore_name: str, path: str, overwrite: bool = False
    ) -> FolderDatastore:
        """Register a directory, which is read in place. Azure has no such method.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            path: A directory of this machine, or one that all machines see at the same path.
            overwrite: Whether to replace a datastore of this name.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The directory does not exist, or the name is taken or not valid.

        Example:
            code = Datastore.register_folder(ws, "code", "src", overwrite=True)
            print(Dataset.File.from_files((code, "**")).to_path())
        """
        folder = os.path.abspath(os.path.expanduser(os.fspath(path)))
        if not os.path.isdir(folder):
            raise UserErrorException(f"the folder {folder} does not exist", hint="create it first, or correct the path")
        return register(FolderDatastore, workspace, datastore_name, {"path": folder}, {}, overwrite, True)

    @staticmethod
    def register_s3_bucket(
        workspace: Workspace,
        datastore_name: str,
        bucket: str,
        access_key_id: Optional[str] = None,
        secret_access_key: Optional[str] = None,
        session_token: Optional[str] = None,
        region: Optional[str] = None,
        endpoint: Optional[str] = None,
        prefix: Optional[str] = None,
        overwrite: bool = False,
        skip_validation: bool = False,
    ) -> S3Datastore:
        """Register a bucket of S3, or of a compatible service. Azure has no such method.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            bucket: The bucket.
            access_key_id: The id of the access key.
            secret_access_key: Its secret.
            session_token: The token of temporary credentials.
            region: The region.
            endpoint: The address of a compatible service.
            prefix: The part of the bucket that the datastore shows.
            overwrite: Whether to replace a datastore of this name.
            skip_validation: Whether to register without a check of access.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid, or access is denied.

        Example:
            bucket = Datastore.register_s3_bucket(ws, "s3", "images", region="eu-west-1", skip_validation=True)
        """
        location = {"bucket": bucket, "region": region, "endpoint": endpoint, "prefix": prefix}
        credentials = {
            "access_key_id": access_key_id, "secret_access_key": secret_access_key, "session_token": session_token,
        }  # fmt: skip
        return register(S3Datastore, workspace, datastore_name, location, credentials, overwrite, skip_validation)

    @staticmethod
    def register_gcs_bucket(
        workspace: Workspace,
        datastore_name: str,
        bucket: str,
        service_account_key: Optional[str] = None,
        endpoint: Optional[str] = None,
        prefix: Optional[str] = None,
        overwrite: bool = False,
        skip_validation: bool = False,
    ) -> GcsDatastore:
        """Register a bucket of Google Cloud Storage. Azure has no such method.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            bucket: The bucket.
            service_account_key: The JSON of the key, or the path of its file.
            endpoint: The address of a compatible service.
            prefix: The part of the bucket that the datastore shows.
            overwrite: Whether to replace a datastore of this name.
            skip_validation: Whether to register without a check of access.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid, or access is denied.

        Example:
            bucket = Datastore.register_gcs_bucket(ws, "gcs", "images", skip_validation=True)
        """
        if service_account_key is not None and os.path.isfile(os.fspath(service_account_key)):
            with open(service_account_key, encoding="utf-8") as file:
                service_account_key = file.read()
        location = {"bucket": bucket, "endpoint": endpoint, "prefix": prefix}
        credentials = {"service_account_key": service_account_key}
        return register(GcsDatastore, workspace, datastore_name, location, credentials, overwrite, skip_validation)

    @staticmethod
    def register_web(
        workspace: Workspace,
        datastore_name: str,
        url: str,
        token: Optional[str] = None,
        username: Optional[str] = None,
        password: Optional[str] = None,
        overwrite: bool = False,
    ) -> HttpDatastore:
        """Register a web site: files by their path below its address. Azure has no such method.

        It is read-only, and cannot list files.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            url: The address.
            token: A bearer token.
            username: A user, for basic authentication.
            password: The password.
            overwrite: Whether to replace a datastore of this name.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid.

        Example:
            site = Datastore.register_web(ws, "site", "https://data.example.com/sets")
        """
        credentials = {"token": token, "username": username, "password": password}
        return register(HttpDatastore, workspace, datastore_name, {"url": url}, credentials, overwrite, True)
