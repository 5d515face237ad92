"""`Dataset.Tabular`: tables from delimited, Parquet and JSON lines files, from SQL, and from pandas."""

from __future__ import annotations

import os
import tempfile
import uuid
from typing import Any, Dict, Mapping, Optional, Tuple, cast

from footplate.sdk.data import worker_client
from footplate.sdk.data.column_types import header_term, types_to_json
from footplate.sdk.data.dataframe import from_pandas
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.paths import definition_of
from footplate.sdk.data.store_access import stores_of, upload_files
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.exceptions import DatasetValidationError, ServiceException, UserErrorException
from footplate.sdk.values.wrong_types import explained


@explained
class TabularDatasetFactory:
    r"""Creates tabular datasets, as `Dataset.Tabular`.

    Only columns and types are read; with `validate=False` nothing is.

    Example:
        with open("points.csv", "w") as file:
            file.write("x,y\n1,2\n")
        datastore = ws.get_default_datastore()
        datastore.upload_files(["points.csv"], target_path="points", overwrite=True, show_progress=False)
        table = Dataset.Tabular.from_delimited_files((datastore, "points/*.csv"))
        frame = table.to_pandas_dataframe()
        kept = Dataset.Tabular.register_pandas_dataframe(frame, (datastore, "kept"), "points", show_progress=False)
    """

    @staticmethod
    def from_delimited_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        infer_column_types: bool = True,
        set_column_types: Optional[Mapping[str, Any]] = None,
        separator: str = ",",
        header: Any = True,
        partition_format: Optional[str] = None,
        support_multi_line: bool = False,
        empty_as_string: bool = False,
        encoding: str = "utf8",
    ) -> TabularDataset:
        """Create a dataset from CSV, TSV and similar files. Line breaks inside quotes are always part of the value.

        Types are inferred from the first 8 MiB, which is all of most tables; later misfits are reported on
        reading.

        Args:
            path: URLs, (datastore, path), or lists of these; paths may contain `*`, `**` and `?`.
            validate: Whether to read the columns now.
            include_path: Whether the table has a column `Path`.
            infer_column_types: Whether types are inferred; otherwise all columns are text.
            set_column_types: Types by column, in place of inferred ones.
            separator: The separator of columns.
            header: How headers are read: True, False or a PromoteHeadersBehavior.
            partition_format: A format that turns parts of paths into columns, such as `{year}/{month}`.
            support_multi_line: Accepted and ignored: it is always supported.
            empty_as_string: Whether an empty field is an empty text instead of null.
            encoding: The encoding of the files.

        Returns:
            The dataset.

        Raises:
            DatasetValidationError: The files do not exist or cannot be read.
            UserErrorException: An option is not valid.
        """
        form = {
            "kind": "delimited",
            "separator": separator,
            "header": header_term(header),
            "encoding": encoding,
            "empty_as_string": bool(empty_as_string),
            "infer_types": bool(infer_column_types),
        }
        return _create(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_parquet_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Optional[Mapping[str, Any]] = None,
        partition_format: Optional[str] = None,
    ) -> TabularDataset:
        """Create a dataset from Parquet files.

        Args:
            path: URLs, (datastore, path), or lists of these; paths may contain `*`, `**` and `?`.
            validate: Whether to read the columns now.
            include_path: Whether the table has a column `Path`.
            set_column_types: Types by column, in place of those in the files.
            partition_format: A format that turns parts of paths into columns.

        Returns:
            The dataset.

        Raises:
            DatasetValidationError: The files do not exist or cannot be read.
            UserErrorException: An option is not valid.

        Example:
            path = (ws.get_default_datastore(), "features/**/*.parquet")
            table = Dataset.Tabular.from_parquet_files(path, validate=False)
        """
        return _create(path, {"kind": "parquet"}, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_json_lines_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Optional[Mapping[str, Any]] = None,
        partition_format: Optional[str] = None,
        invalid_lines: str = "error",
        encoding: str = "utf8",
    ) -> TabularDataset:
        """Create a dataset from files with one JSON object per line.

        Args:
            path: URLs, (datastore, path), or lists of these; paths may contain `*`, `**` and `?`.
            validate: Whether to read the columns now.
            include_path: Whether the table has a column `Path`.
            set_column_types: Types by column, in place of inferred ones.
            partition_format: A format that turns parts of paths into columns.
            invalid_lines: `error`, or `drop` to skip bad lines.
            encoding: The encoding of the files.

        Returns:
            The dataset.

        Raises:
            DatasetValidationError: The files do not exist or cannot be read.
            UserErrorException: An option is not valid.

        Example:
            path = (ws.get_default_datastore(), "events/*.jsonl")
            table = Dataset.Tabular.from_json_lines_files(path, validate=False, invalid_lines="drop")
        """
        if invalid_lines not in ("error", "drop"):
            raise UserErrorException(f"invalid_lines is {invalid_lines!r}", hint="use 'error' or 'drop'")
        form = {"kind": "json_lines", "invalid_lines": invalid_lines, "encoding": encoding}
        return _create(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_sql_query(
        query: Any, validate: bool = True, set_column_types: Optional[Mapping[str, Any]] = None, query_timeout: int = 30
    ) -> TabularDataset:
        """Create a dataset from a query.

        Args:
            query: (datastore, 'SELECT …'), with a datastore of a database.
            validate: Whether to read the columns now.
            set_column_types: Types by column, in place of those of the database.
            query_timeout: Seconds after which the query is given up.

        Returns:
            The dataset.

        Raises:
            DatasetValidationError: The query fails.
            UserErrorException: `query` is not such a pair.

        Example:
            sales = Datastore.register_sql_database(ws, "queries", "sqlite", "sales.db", overwrite=True)
            table = Dataset.Tabular.from_sql_query((sales, "SELECT * FROM orders"), validate=False)
        """
        datastore, text = _query_of(query)
        definition = {
            "sources": [{"datastore": datastore.name, "path": ""}],
            "format": {"kind": "sql", "query": text, "timeout_s": query_timeout},
            "types": types_to_json(set_column_types),
        }
        return _with_inferred_types(definition, datastore.workspace, validate)

    @staticmethod
    def register_pandas_dataframe(
        dataframe: Any,
        target: Any,
        name: str,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        show_progress: bool = True,
        row_group_size: Optional[int] = None,
        make_target_path_unique: bool = True,
    ) -> TabularDataset:
        """Write a DataFrame as Parquet to a datastore, and register it as the next version of a dataset.

        Args:
            dataframe: The DataFrame. Its index is left out.
            target: (datastore, folder).
            name: The name of the dataset.
            description: A text about the dataset.
            tags: Tags of the version.
            show_progress: Whether to show a progress bar.
            row_group_size: Rows of each row group.
            make_target_path_unique: Whether to use a new folder below the target.

        Returns:
            The registered dataset.

        Raises:
            UserErrorException: `target` is not in a datastore.
        """
        definition, workspace = definition_of(target)
        if workspace is None:
            raise UserErrorException(f"target is {target!r}", hint="give (datastore, 'path/on/datastore')")
        source = definition["sources"][0]
        unique = [uuid.uuid4().hex] if make_target_path_unique else []
        folder = "/".join(part for part in (source["path"], *unique) if part)
        with tempfile.TemporaryDirectory(prefix="footplate-table-") as aside:
            files = _parquet_files(dataframe, aside, row_group_size)
            upload_files(workspace, source["datastore"], files, folder, show_progress=show_progress)
        table = {"sources": [{"datastore": source["datastore"], "path": folder}], "format": {"kind": "parquet"}}
        return TabularDataset(table, workspace).register(workspace, name, description, tags, create_new_version=True)


def _parquet_files(dataframe: Any, aside: str, row_group_size: Optional[int]) -> Any:
    frame, folder = os.path.join(aside, "frame"), os.path.join(aside, "parquet")
    with open(frame, "wb") as out:
        from_pandas(dataframe, out)
    answer = worker_client.call(
        "table.frame_to_parquet", {"frame": frame, "target": folder, "row_group_size": row_group_size}
    )
    return [(os.path.join(folder, name), name) for name in answer["files"]]


def _create(
    path: Any,
    form: Dict[str, Any],
    validate: bool,
    include_path: bool,
    types: Optional[Mapping[str, Any]],
    partition_format: Optional[str],
) -> TabularDataset:
    definition, workspace = definition_of(path)
    if include_path:
        form["path_column"] = True
    if partition_format:
        form["partition_format"] = partition_format
    return _with_inferred_types(dict(definition, format=form, types=types_to_json(types)), workspace, validate)


def _with_inferred_types(definition: Dict[str, Any], workspace: Optional[Any], validate: bool) -> TabularDataset:
    """Add the types inferred from the first rows, which stay fixed even if the files change."""
    if validate:
        arguments = {
            "definition": definition,
            "stores": stores_of(workspace, definition),
            "cache": worker_client.cache_folder(),
        }
        try:
            inspection = worker_client.call("table.inspect", arguments)
        except (UserErrorException, ServiceException) as error:
            raise DatasetValidationError(error.message, error, hint=error.hint) from error
        if inspection["inferred"]:
            definition = dict(definition, inferred=inspection["inferred"])
    return TabularDataset(definition, workspace)


def _query_of(query: Any) -> Tuple[AbstractDatastore, str]:
    datastore, text = getattr(query, "datastore", None), getattr(query, "path_on_datastore", None)
    if isinstance(query, tuple) and len(cast("Tuple[Any, ...]", query)) == 2:
        datastore, text = cast("Tuple[Any, Any]", query)
    if not isinstance(datastore, AbstractDatastore) or not isinstance(text, str) or not text.strip():
        raise UserErrorException(f"query is {query!r}", hint="give (datastore, 'SELECT …')")
    return datastore, text
