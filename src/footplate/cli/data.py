"""`footplate data`."""

from __future__ import annotations

import itertools
import os
from typing import Any

import click

from footplate.cli.console import (
    ago,
    counted,
    emit,
    emit_or_echo,
    emit_or_pairs,
    emit_or_say,
    print_pairs,
    say,
    size,
    tag_words,
    when,
)
from footplate.cli.context import (
    confirm,
    folder_option,
    in_workspace,
    in_workspace_with_json,
    json_option,
    names_of,
    parse_pairs,
    parse_version,
    tag_filter_option,
    tags_option,
    yes_option,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_list, print_table
from footplate.domain.datasets import DatasetView
from footplate.sdk.data import uploaded_versions, worker_client
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.workspace import Workspace

dataset_argument = click.argument("dataset", metavar="NAME[:VERSION]", shell_complete=names_of("datasets"))
_SHOWN = 20


@click.group(cls=Noun)
def data() -> None:
    """Datasets: list, add, download, verify, and trace them to runs and models.

    NAME is the latest version of a dataset, NAME:VERSION a specific one.
    """


@data.command("list")
@click.option("--name", metavar="NAME", help="All versions of this dataset.")
@tag_filter_option
@click.option("--all", "every", is_flag=True, help="All versions, not only the latest.")
@in_workspace_with_json
def list_datasets(name: str | None, tags: tuple[str, ...], every: bool, workspace: Workspace, as_json: bool) -> None:
    """List datasets, newest first."""
    latest = not every and name is None
    views = list(workspace.session.api.datasets.list(workspace.id, name=name, tag=tags, latest=latest))
    print_list(
        as_json, views, "no datasets", ["name", "version", "kind", "files", "size", "created", "tags"],
        lambda d: [d.name, d.version, d.kind, d.files, _size(d), ago(d.created), tag_words(d.tags)],
        right=["version", "files", "size"], shrink=["tags"], drop=["tags", "created"],
    )  # fmt: skip


@data.command()
@dataset_argument
@in_workspace_with_json
def show(dataset: str, workspace: Workspace, as_json: bool) -> None:
    """Show a dataset."""
    view = _read(workspace, dataset)
    if as_json:
        emit(view)
        return
    files = _first_files(workspace, view)
    print_pairs(
        [
            ("name", view.name),
            ("version", view.version),
            ("kind", view.kind),
            ("description", view.description),
            ("created", f"{when(view.created)} ({ago(view.created)})"),
            ("written by", view.run),
            ("tags", tag_words(view.tags)),
            ("id", view.id),
            (
                "from",
                "\n" + "\n".join(s.get("url") or f"{s['datastore']}:{s['path']}" for s in view.definition["sources"]),
            ),
            *_table_words(view.definition),
            ("steps", ", ".join(step["do"] for step in view.definition.get("steps", ()))),
            ("pinned", f"{counted(view.files or 0, 'file')}, {_size(view)}" if view.listing else "nothing"),
            ("files", "\n" + "\n".join(files) if files else None),
        ]
    )


def _first_files(workspace: Workspace, dataset: DatasetView) -> list[str]:
    if not dataset.listing:
        return []
    files = workspace.session.api.datasets.files(workspace.id, dataset.id, limit=_SHOWN)
    page = list(itertools.islice(files, _SHOWN))
    lines = [f"{item.name}  {size(max(0, item.size))}" for item in page]
    more = (dataset.files or 0) - len(page)
    return [*lines, *([f"… and {more} more"] if more > 0 else [])]


def _table_words(definition: dict[str, Any]) -> list[tuple[str, str]]:
    """Describe how its files are read as a table; None if it is not tabular."""
    form: dict[str, Any] = definition.get("format") or {}
    if not form:
        return []
    times: dict[str, str] = definition.get("timestamps") or {}
    types: dict[str, Any] = {**(definition.get("inferred") or {}), **(definition.get("types") or {})}
    return [
        ("format", form["kind"] + (f", separated by {form['separator']!r}" if "separator" in form else "")),
        ("query", form.get("query", "")),
        ("partitions", form.get("partition_format", "")),
        ("columns", ", ".join(f"{name} ({kind['type']})" for name, kind in types.items())),
        ("time", ", ".join(times.values())),
    ]


@data.command()
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--datastore", "store", metavar="NAME", help="The datastore for uploaded files.  [default: the workspace's default]"
)
@tags_option
@click.option("--description", metavar="TEXT")
@in_workspace_with_json
def add(
    name: str, paths: tuple[str, ...], store: str | None, workspace: Workspace, as_json: bool, **about: Any
) -> None:
    """Register the next version of a dataset.


    PATH is one of
      ./folder or ./file               on this machine, uploaded to a datastore
      datastore:path/**/*.png          in a datastore, not copied
      https://host/path                a file on the web, not copied

    An upload to a folder (the default datastore) copies only files that the latest version lacks. Without any
    change, there is no new version.
    """
    earlier = _find_uploads(workspace, name)
    sources = [_path(workspace, name, path, store, earlier) for path in paths]
    files = Dataset.File.from_files(sources[0] if len(sources) == 1 else sources)
    registered = files.register(
        workspace, name, about["description"], parse_pairs(about["tags"], "--tag"), create_new_version=True
    )
    if as_json:
        emit(_read(workspace, f"{registered.name}:{registered.version}"))
    else:
        click.echo(f"{registered.name}:{registered.version}")


def _find_uploads(workspace: Workspace, name: str) -> dict[str, list[str]]:
    """Return the folders that were uploaded for the latest version of a dataset, by datastore, in order."""
    folders: dict[str, list[str]] = {}
    for view in workspace.session.api.datasets.list(workspace.id, name=name, latest=True):
        for datastore, folder in uploaded_versions.folders_of(view):
            folders.setdefault(datastore, []).append(folder)
    return folders


def _path(workspace: Workspace, name: str, path: str, store: str | None, earlier: dict[str, list[str]]) -> Any:
    """Return a path for `Dataset.File.from_files`; upload local files first.

    The first path is compared with the first folder in `earlier`, which is taken out, and so on.
    """
    if path.startswith(("http://", "https://")):
        return path
    head, colon, below = path.partition(":")
    if colon and not os.path.exists(path):
        return Datastore.get(workspace, head), below
    target = Datastore(workspace, store)
    if not os.path.exists(path):
        raise click.BadParameter(f"there is no file or folder {path!r}", param_hint="PATH")
    folders = earlier.get(target.name, [])
    return target, uploaded_versions.upload(workspace, target.name, name, path, folders.pop(0) if folders else None)


@data.command()
@dataset_argument
@yes_option
@in_workspace
def delete(dataset: str, yes: bool, workspace: Workspace) -> None:
    """Delete a dataset or one of its versions, with the files that `data add` uploaded for it.

    Files that another version or dataset names stay, and so do those that were registered where they are. Runs and
    models that used a version still show it.
    """
    name, version = parse_version(dataset)
    _read(workspace, dataset)  # reports one that does not exist
    listed = workspace.session.api.datasets.list(workspace.id, name=name)
    views = [view for view in listed if version in (None, view.version)]
    active = next(uploaded_versions.active_readers(workspace, views), None)
    if active is not None:
        raise UserErrorException(
            f"run {active} uses dataset {dataset} and has not ended",
            hint=f"wait until it ends, or cancel it: footplate runs cancel {active}",
        )
    folders = uploaded_versions.to_delete(workspace, views)
    places = ", ".join(f"{datastore}:{folder}" for datastore, folder in folders)
    files = f"and the files in {places}" if places else "(no files: they stay where they are)"
    confirm(f"delete {counted(len(views), 'version')} of dataset {name} {files}?", yes)
    count = uploaded_versions.delete(workspace, name, version, views)
    say(f"deleted {counted(len(views), 'version')} of {name} and {counted(count, 'file')}")


@data.command()
@dataset_argument
@folder_option
@click.option("--overwrite", is_flag=True, help="Overwrite existing files.")
@in_workspace_with_json
def download(dataset: str, folder: str, overwrite: bool, workspace: Workspace, as_json: bool) -> None:
    """Download the files of a dataset."""
    paths = _open(workspace, dataset).download(folder, overwrite=overwrite)
    emit_or_say(as_json, {"paths": paths}, f"{counted(len(paths), 'file')} in {os.path.abspath(folder)}")


@data.command()
@dataset_argument
@in_workspace_with_json
@click.pass_context
def verify(ctx: click.Context, dataset: str, workspace: Workspace, as_json: bool) -> None:
    """Report what changed since a version was registered; exit with code 1 if anything did."""
    changes = _open(workspace, dataset).verify()
    facts = {"added": changes.added, "removed": changes.removed, "changed": changes.changed}
    emit_or_echo(as_json, facts, str(changes))
    ctx.exit(0 if changes else 1)


@data.command()
@dataset_argument
@in_workspace_with_json
def lineage(dataset: str, workspace: Workspace, as_json: bool) -> None:
    """Show where a dataset came from, and what was made from it."""
    view = _read(workspace, dataset)
    links = workspace.session.api.datasets.lineage(workspace.id, view.id)
    if as_json:
        emit(links)
        return
    lines = [[use.role.replace("wrote", "written by").replace("read", "read by"), use.run, use.status,
              f"{use.experiment}, as {use.name!r}"] for use in links.runs]  # fmt: skip
    lines += [["behind model", f"{m.model}:{m.model_version}", "", f"as {m.purpose!r}"]
              for m in links.models]  # fmt: skip
    if lines:
        named = f"{view.name}:{view.version}"
        print_table(["", named, "status", "how"], lines, shrink=["how"], names=[named])
    else:
        say(f"no run read or wrote {view.name}:{view.version}")


@data.command()
@click.option("--clear", is_flag=True, help="Remove everything that no run is reading.")
@click.option("--keep", type=click.FloatRange(0), metavar="GB", help="Remove the least recently used files.")
@json_option
def cache(clear: bool, keep: float | None, as_json: bool) -> None:
    """Show the cache of remote data on this machine, or free space in it.

    Fetched files stay for later runs, up to a limit; the least recently used are removed first. The limit is
    100 GiB, unless settings.ini in the home folder sets another: [data] cache = 200 GB
    """
    folder = worker_client.cache_folder()
    freed = 0
    if clear or keep is not None:
        freed = worker_client.call("clear_cache", {"cache": folder, "keep": 0 if clear else int((keep or 0) * 1e9)})
    usage = worker_client.call("cache_usage", {"cache": folder})
    facts = [
        ("folder", folder),
        ("files", str(usage["files"])),
        ("size", size(usage["bytes"])),
        ("in use", size(usage["held"])),
        ("limit", size(usage["limit"])),
        ("made free", size(freed) if freed else None),
    ]
    emit_or_pairs(as_json, {"folder": folder, "freed": freed, **usage}, facts)


def _open(workspace: Workspace, dataset: str) -> Any:
    name, version = parse_version(dataset)
    return Dataset.get_by_name(workspace, name, version or "latest")


def _read(workspace: Workspace, dataset: str) -> DatasetView:
    name, version = parse_version(dataset)
    return workspace.session.api.datasets.get(workspace.id, name, version or "latest")


def _size(dataset: DatasetView) -> str:
    return "" if dataset.size is None else size(dataset.size)
