"""`Datastore`: access to all datastores of a workspace, of whatever kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NoReturn, Optional, Type, TypeVar, cast

from footplate.domain.data import DIALECTS
from footplate.domain.datasets import DatastoreView
from footplate.domain.requests import NewDatastore
from footplate.sdk.data import worker_client
from footplate.sdk.data.datastore_kinds import (
    AbstractDatastore,
    AzureBlobDatastore,
    AzureDataLakeGen2Datastore,
    AzureFileDatastore,
    FolderDatastore,
    GcsDatastore,
    HttpDatastore,
    S3Datastore,
    SqlDatastore,
)
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.handles import WorkspaceHandle as Workspace

_KINDS: Kinds = {"not_found": UserErrorException, "conflict": UserErrorException}
_CLASSES: Dict[str, Type[AbstractDatastore]] = {
    made.kind: made
    for made in (
        AzureBlobDatastore,
        AzureFileDatastore,
        AzureDataLakeGen2Datastore,
        FolderDatastore,
        S3Datastore,
        GcsDatastore,
        HttpDatastore,
        SqlDatastore,
    )
}
D = TypeVar("D", bound=AbstractDatastore)


@explained
class Datastore:
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
        return _of_view(
            workspace, workspace.session.api_for(_KINDS).datastores.get(workspace.id, _name(datastore_name))
        )

    @staticmethod
    def get_default(workspace: Workspace) -> AbstractDatastore:
        """Return the default datastore.

        Args:
            workspace: The workspace.

        Returns:
            The datastore, as an object of its own class.
        """
        return _of_view(workspace, workspace.session.api.datastores.default(workspace.id))

    # ── Azure's ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def register_azure_blob_container(
        workspace: Workspace,
        datastore_name: str,
        container_name: str,
        account_name: str,
        sas_token: Optional[str] = None,
        account_key: Optional[str] = None,
        protocol: Optional[str] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
        blob_cache_timeout: Optional[int] = None,
        grant_workspace_access: bool = False,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
    ) -> AzureBlobDatastore:
        """Register a container of Azure Blob Storage.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            container_name: The container.
            account_name: The storage account.
            sas_token: A shared access signature.
            account_key: The key of the account, in place of a signature.
            protocol: `https` or `http`.
            endpoint: The host suffix of another cloud, or a whole URL, for Azurite and similar servers.
            overwrite: Whether to replace a datastore of this name.
            skip_validation: Whether to register without a check of access.
            create_if_not_exists, blob_cache_timeout, grant_workspace_access: No effect; a warning says so.
            subscription_id, resource_group: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid, or access is denied.

        Example:
            datastore = Datastore.register_azure_blob_container(
                ws, "images", container_name="images", account_name="contoso", account_key="a2V5", skip_validation=True
            )
        """
        _warn_unused(
            create_if_not_exists=create_if_not_exists, blob_cache_timeout=blob_cache_timeout,
            grant_workspace_access=grant_workspace_access, subscription_id=subscription_id,
            resource_group=resource_group,
        )  # fmt: skip
        location = {"account": account_name, "container": container_name}
        location.update(_endpoint(endpoint, protocol, account_name))
        credentials = {"sas": sas_token, "key": account_key}
        return _register(
            AzureBlobDatastore, workspace, datastore_name, location, credentials, overwrite, skip_validation
        )

    @staticmethod
    def register_azure_file_share(
        workspace: Workspace,
        datastore_name: str,
        file_share_name: str,
        account_name: str,
        sas_token: Optional[str] = None,
        account_key: Optional[str] = None,
        protocol: Optional[str] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
        *,
        path: Optional[str] = None,
    ) -> AzureFileDatastore:
        """Register an Azure Files share.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            file_share_name: The share.
            account_name: The storage account.
            sas_token: A shared access signature.
            account_key: The key of the account.
            overwrite: Whether to replace a datastore of this name.
            skip_validation: Whether to register without a check of access.
            path: The directory at which the share is mounted on every machine that reads it.
            protocol, endpoint, create_if_not_exists: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid, or `path` cannot be read.

        Example:
            datastore = Datastore.register_azure_file_share(ws, "share", "share", "contoso", account_key="a2V5")
        """
        _warn_unused(protocol=protocol, endpoint=endpoint, create_if_not_exists=create_if_not_exists)
        location = {"account": account_name, "share": file_share_name}
        if path is not None:
            location["path"] = os.path.abspath(path)
        credentials = {"sas": sas_token, "key": account_key}
        unseen = skip_validation or path is None  # without a path there is nothing to check
        return _register(AzureFileDatastore, workspace, datastore_name, location, credentials, overwrite, unseen)

    @staticmethod
    def register_azure_data_lake_gen2(
        workspace: Workspace,
        datastore_name: str,
        filesystem: str,
        account_name: str,
        tenant_id: Optional[str] = None,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        resource_url: Optional[str] = None,
        authority_url: Optional[str] = None,
        protocol: Optional[str] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
        grant_workspace_access: bool = False,
    ) -> AzureDataLakeGen2Datastore:
        """Register a file system of Azure Data Lake Storage Gen2, which is read at its blob endpoint.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            filesystem: The file system.
            account_name: The storage account.
            tenant_id: The tenant of the service principal.
            client_id: The id of the service principal.
            client_secret: Its secret.
            protocol: `https` or `http`.
            endpoint: The host suffix of another cloud, or a whole URL.
            overwrite: Whether to replace a datastore of this name.
            resource_url, authority_url, subscription_id, resource_group: No effect; a warning says so.
            grant_workspace_access: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid.

        Example:
            datastore = Datastore.register_azure_data_lake_gen2(
                ws, "lake", "raw", "contoso", tenant_id="tenant", client_id="client", client_secret="s3cr3t"
            )
        """
        _warn_unused(
            resource_url=resource_url, authority_url=authority_url, subscription_id=subscription_id,
            resource_group=resource_group, grant_workspace_access=grant_workspace_access,
        )  # fmt: skip
        location = {"account": account_name, "container": filesystem}
        location.update(_endpoint(endpoint and endpoint.replace(".dfs.", ".blob."), protocol, account_name))
        credentials = {"tenant_id": tenant_id, "client_id": client_id, "client_secret": client_secret}
        return _register(AzureDataLakeGen2Datastore, workspace, datastore_name, location, credentials, overwrite, True)

    @staticmethod
    def register_azure_data_lake(workspace: Workspace, datastore_name: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: Azure has retired Data Lake Storage Gen1.

        Args:
            workspace, datastore_name, *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; use `register_azure_data_lake_gen2`.

        Example:
            try:
                Datastore.register_azure_data_lake(ws, "lake1")
            except UserErrorException as error:
                print(error.hint)
        """
        _raise_unsupported("Azure Data Lake Storage Gen1", "Azure has retired it: use register_azure_data_lake_gen2")

    @staticmethod
    def register_azure_sql_database(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        tenant_id: Optional[str] = None,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        resource_url: Optional[str] = None,
        authority_url: Optional[str] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        username: Optional[str] = None,
        password: Optional[str] = None,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
        grant_workspace_access: bool = False,
        **kwargs: Any,
    ) -> SqlDatastore:
        """Register an Azure SQL database, for queries. The nodes need the ODBC driver of the database.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            server_name: The server; a bare name is completed with Azure's domain.
            database_name: The database.
            username: A user of the database.
            password: The password.
            endpoint: The domain of another cloud.
            overwrite: Whether to replace a datastore of this name.
            tenant_id, client_secret, resource_url, authority_url: No effect; a warning says so.
            client_id: Refused without `username`: service principals are not supported.
            subscription_id, resource_group, grant_workspace_access, **kwargs: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: A service principal was given, or the name is taken or not valid.

        Example:
            db = Datastore.register_azure_sql_database(ws, "db", "contoso", "sales", username="ada", password="s3cr3t")
        """
        if username is None and client_id is not None:
            _raise_unsupported("Azure SQL with a service principal", "give a database user's username and password")
        _warn_unused(
            tenant_id=tenant_id, client_id=client_id, client_secret=client_secret, resource_url=resource_url,
            authority_url=authority_url, subscription_id=subscription_id, resource_group=resource_group,
            grant_workspace_access=grant_workspace_access, **kwargs,
        )  # fmt: skip
        host = _host(server_name, endpoint or "database.windows.net")
        return _register_sql(
            workspace, datastore_name, "mssql", database_name, host, None, username, password, overwrite
        )

    @staticmethod
    def register_azure_postgre_sql(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: Optional[int] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        **kwargs: Any,
    ) -> SqlDatastore:
        """Register a PostgreSQL database, for queries.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            server_name: Any host; a bare name is completed with Azure's domain.
            database_name: The database.
            user_id: A user of the database.
            user_password: The password.
            port_number: The port.
            endpoint: The domain of another cloud.
            overwrite: Whether to replace a datastore of this name.
            **kwargs: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid.

        Example:
            sales = Datastore.register_azure_postgre_sql(ws, "pg", "db.example.com", "sales", "reader", "s3cr3t")
        """
        _warn_unused(**kwargs)
        host = _host(server_name, endpoint or "postgres.database.azure.com")
        return _register_sql(
            workspace, datastore_name, "postgresql", database_name, host, port_number, user_id, user_password, overwrite
        )

    @staticmethod
    def register_azure_my_sql(
        workspace: Workspace,
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: Optional[int] = None,
        endpoint: Optional[str] = None,
        overwrite: bool = False,
        **kwargs: Any,
    ) -> SqlDatastore:
        """Register a MySQL database, for queries.

        Args:
            workspace: The workspace.
            datastore_name: The name in the workspace.
            server_name: Any host; a bare name is completed with Azure's domain.
            database_name: The database.
            user_id: A user of the database.
            user_password: The password.
            port_number: The port.
            endpoint: The domain of another cloud.
            overwrite: Whether to replace a datastore of this name.
            **kwargs: No effect; a warning says so.

        Returns:
            The datastore.

        Raises:
            UserErrorException: The name is taken or not valid.

        Example:
            sales = Datastore.register_azure_my_sql(ws, "mysql", "db.example.com", "sales", "reader", "s3cr3t")
        """
        _warn_unused(**kwargs)
        host = _host(server_name, endpoint or "mysql.database.azure.com")
        return _register_sql(
            workspace, datastore_name, "mysql", database_name, host, port_number, user_id, user_password, overwrite
        )

    @staticmethod
    def register_dbfs(workspace: Workspace, datastore_name: str) -> NoReturn:
        """Raise an error: Footplate has no datastores on Databricks.

        Args:
            workspace, datastore_name: Ignored.

        Raises:
            UserErrorException: Always; copy the data to a bucket or container.

        Example:
            try:
                Datastore.register_dbfs(ws, "bricks")
            except UserErrorException as error:
                print(error.hint)
        """
        _raise_unsupported("Databricks", "copy the data to a blob container or an S3 bucket")

    @staticmethod
    def register_hdfs(workspace: Workspace, datastore_name: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: Footplate has no datastores on HDFS.

        Args:
            workspace, datastore_name, *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; mount it, and use `register_folder`.

        Example:
            try:
                Datastore.register_hdfs(ws, "hadoop")
            except UserErrorException as error:
                print(error.hint)
        """
        _raise_unsupported("HDFS", "mount it, and use Datastore.register_folder")

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
        return _register_sql(workspace, datastore_name, dialect, place, host, port, username, password, overwrite)

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
        return _register(FolderDatastore, workspace, datastore_name, {"path": folder}, {}, overwrite, True)

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
        return _register(S3Datastore, workspace, datastore_name, location, credentials, overwrite, skip_validation)

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
        return _register(GcsDatastore, workspace, datastore_name, location, credentials, overwrite, skip_validation)

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
        return _register(HttpDatastore, workspace, datastore_name, {"url": url}, credentials, overwrite, True)


def list_datastores(workspace: Workspace) -> List[AbstractDatastore]:
    return [_of_view(workspace, view) for view in workspace.session.api.datastores.list(workspace.id)]


def _of_view(workspace: Workspace, view: DatastoreView) -> AbstractDatastore:
    return _CLASSES[view.kind](workspace, view)


def _register(
    kind: Type[D],
    workspace: Workspace,
    name: str,
    location: Mapping[str, Optional[str]],
    credentials: Mapping[str, Optional[str]],
    overwrite: bool,
    unseen: bool,
) -> D:
    return cast(
        D,
        register(workspace, name, kind.kind, _without_empty(location), _without_empty(credentials), overwrite, unseen),
    )


def register(
    workspace: Workspace,
    name: str,
    kind: str,
    location: Mapping[str, str],
    credentials: Mapping[str, str],
    overwrite: bool = False,
    unseen: bool = False,
) -> AbstractDatastore:
    """Register after a check of access, unless `unseen`: wrong credentials are an error now, not during a run."""
    spec = {"kind": kind, "location": dict(location), "credentials": dict(credentials)}
    if not unseen:
        worker_client.call("check", {"store": spec})
    new = NewDatastore(kind, dict(location), dict(credentials), if_exists="replace" if overwrite else "refuse")
    return _of_view(workspace, workspace.session.api_for(_KINDS).datastores.put(workspace.id, _name(name), new))


def _register_sql(
    workspace: Workspace,
    name: str,
    dialect: str,
    database: str,
    host: Optional[str],
    port: Optional[int],
    username: Optional[str],
    password: Optional[str],
    overwrite: bool,
) -> SqlDatastore:
    if dialect not in DIALECTS:
        raise UserErrorException(f"dialect is {dialect!r}", hint=f"use {', '.join(DIALECTS)}")
    number = None if port is None else str(port)
    location = {"dialect": dialect, "database": database, "host": host, "port": number}
    credentials = {"username": username, "password": password}
    return _register(SqlDatastore, workspace, name, location, credentials, overwrite, True)


def _host(server: str, domain: str) -> str:
    """Complete a bare server name with Azure's domain; leave anything else unchanged."""
    return server if "." in server or ":" in server or server == "localhost" else f"{server}.{domain}"


def _name(name: str) -> str:
    """Return the name in lower case, as Azure does."""
    if not isinstance(name, str) or not name or "/" in name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"{name!r} is not a datastore name", hint="use lower-case letters, digits and '_'")
    return name.lower()


def _without_empty(values: Mapping[str, Optional[str]]) -> Dict[str, str]:
    return {key: value for key, value in values.items() if value}


def _endpoint(endpoint: Optional[str], protocol: Optional[str], account: str) -> Dict[str, str]:
    """Return the endpoint: Azure's API takes a host suffix (`core.windows.net`); a whole URL is left unchanged."""
    suffix = endpoint or "core.windows.net"
    if "://" in suffix:
        if protocol not in (None, suffix.partition("://")[0]):
            raise UserErrorException(f"protocol is {protocol!r}, but endpoint is {endpoint!r}", hint="leave one out")
        return {"endpoint": suffix}
    if suffix == "core.windows.net" and protocol in (None, "https"):
        return {}
    return {"endpoint": f"{protocol or 'https'}://{account}.blob.{suffix}"}


def _warn_unused(**given: Any) -> None:
    warn_without_effect(without_effect("a datastore is read with its own address and credentials", **given))


def _raise_unsupported(service: str, hint: str) -> NoReturn:
    raise UserErrorException(f"Footplate has no datastores on {service}", hint=hint)
