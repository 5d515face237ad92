"""Registration of Azure's datastores: the first half of `Datastore`."""

from __future__ import annotations

import os
from typing import Any, NoReturn, Optional

from footplate.sdk.data.datastore_kinds import (
    AzureBlobDatastore,
    AzureDataLakeGen2Datastore,
    AzureFileDatastore,
    SqlDatastore,
)
from footplate.sdk.data.registration import (
    complete_host,
    endpoint_location,
    raise_unsupported,
    register,
    register_sql,
    warn_unused,
)
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.values.wrong_types import explained


@explained
class AzureRegistrations:
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
        warn_unused(
            create_if_not_exists=create_if_not_exists, blob_cache_timeout=blob_cache_timeout,
            grant_workspace_access=grant_workspace_access, subscription_id=subscription_id,
            resource_group=resource_group,
        )  # fmt: skip
        location = {"account": account_name, "container": container_name}
        location.update(endpoint_location(endpoint, protocol, account_name))
        credentials = {"sas": sas_token, "key": account_key}
        return register(
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
        warn_unused(protocol=protocol, endpoint=endpoint, create_if_not_exists=create_if_not_exists)
        location = {"account": account_name, "share": file_share_name}
        if path is not None:
            location["path"] = os.path.abspath(path)
        credentials = {"sas": sas_token, "key": account_key}
        unseen = skip_validation or path is None  # without a path there is nothing to check
        return register(AzureFileDatastore, workspace, datastore_name, location, credentials, overwrite, unseen)

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
        warn_unused(
            resource_url=resource_url, authority_url=authority_url, subscription_id=subscription_id,
            resource_group=resource_group, grant_workspace_access=grant_workspace_access,
        )  # fmt: skip
        location = {"account": account_name, "container": filesystem}
        location.update(endpoint_location(endpoint and endpoint.replace(".dfs.", ".blob."), protocol, account_name))
        credentials = {"tenant_id": tenant_id, "client_id": client_id, "client_secret": client_secret}
        return register(AzureDataLakeGen2Datastore, workspace, datastore_name, location, credentials, overwrite, True)

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
        raise_unsupported("Azure Data Lake Storage Gen1", "Azure has retired it: use register_azure_data_lake_gen2")

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
            raise_unsupported("Azure SQL with a service principal", "give a database user's username and password")
        warn_unused(
            tenant_id=tenant_id, client_id=client_id, client_secret=client_secret, resource_url=resource_url,
            authority_url=authority_url, subscription_id=subscription_id, resource_group=resource_group,
            grant_workspace_access=grant_workspace_access, **kwargs,
        )  # fmt: skip
        host = complete_host(server_name, endpoint or "database.windows.net")
        return register_sql(
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
        warn_unused(**kwargs)
        host = complete_host(server_name, endpoint or "postgres.database.azure.com")
        return register_sql(
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
        warn_unused(**kwargs)
        host = complete_host(server_name, endpoint or "mysql.database.azure.com")
        return register_sql(
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
        raise_unsupported("Databricks", "copy the data to a blob container or an S3 bucket")

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
        raise_unsupported("HDFS", "mount it, and use Datastore.register_folder")
