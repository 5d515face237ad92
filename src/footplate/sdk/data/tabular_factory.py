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
from footplate.sdk.data.store_access import store_spec, stores_of
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.exceptions import DatasetValidationError, ServiceException, UserErrorException
from footplate.sdk.progress import bar


class TabularDatasetFactory:
    """Creates tabular datasets. Only columns and types are read; with `validate=False` nothing is."""

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

        Types are inferred from the first 8 MiB, which is all of most tables; later misfits are reported on reading.
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

        `invalid_lines`: 'error', or 'drop' to skip bad lines.
        """
        if invalid_lines not in ("error", "drop"):
            raise UserErrorException(f"invalid_lines is {invalid_lines!r}", hint="use 'error' or 'drop'")
        form = {"kind": "json_lines", "invalid_lines": invalid_lines, "encoding": encoding}
        return _create(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_sql_query(
        query: Any,
        validate: bool = True,
        set_column_types: Optional[Mapping[str, Any]] = None,
        query_timeout: int = 30,
    ) -> TabularDataset:
        """Create a dataset from a query: (datastore, 'SELECT …'), with a SQL datastore."""
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
        """Write a DataFrame as Parquet to (datastore, 'folder'), and register it as the next version of `name`.

        The index is left out. `make_target_path_unique` uses a new folder below the target.
        """
        definition, workspace = definition_of(target)
        if workspace is None:
            raise UserErrorException(f"target is {target!r}", hint="give (datastore, 'path/on/datastore')")
        source = definition["sources"][0]
        unique = [uuid.uuid4().hex] if make_target_path_unique else []
        folder = "/".join(part for part in (source["path"], *unique) if part)
        with tempfile.TemporaryDirectory(prefix="footplate-table-") as aside:
            files = _parquet_files(dataframe, aside, row_group_size)
            store = store_spec(workspace, source["datastore"])
            arguments = {"files": files, "store": store, "folder": folder, "overwrite": True}
            with bar(f"Uploading to {source['datastore']}", show_progress) as report:
                worker_client.call("upload", arguments, report)
        made = {"sources": [{"datastore": source["datastore"], "path": folder}], "format": {"kind": "parquet"}}
        return TabularDataset(made, workspace).register(workspace, name, description, tags, create_new_version=True)


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
            found = worker_client.call("table.inspect", arguments)
        except (UserErrorException, ServiceException) as error:
            raise DatasetValidationError(error.message, error, hint=error.hint) from error
        if found["inferred"]:
            definition = dict(definition, inferred=found["inferred"])
    return TabularDataset(definition, workspace)


def _query_of(query: Any) -> Tuple[AbstractDatastore, str]:
    datastore, text = getattr(query, "datastore", None), getattr(query, "path_on_datastore", None)
    if isinstance(query, tuple) and len(cast("Tuple[Any, ...]", query)) == 2:
        datastore, text = cast("Tuple[Any, Any]", query)
    if not isinstance(datastore, AbstractDatastore) or not isinstance(text, str) or not text.strip():
        raise UserErrorException(f"query is {query!r}", hint="give (datastore, 'SELECT …')")
    return datastore, text
