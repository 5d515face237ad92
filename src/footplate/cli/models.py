"""`footplate models`."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import click

from footplate.cli.console import ago, emit, emit_or_echo, emit_or_pairs, say, size, tag_words, when
from footplate.cli.context import (
    confirm,
    find_run,
    folder_option,
    in_workspace_with_json,
    json_option,
    names_of,
    open_workspace,
    parse_pairs,
    parse_version,
    tag_filter_option,
    tags_option,
    workspace_option,
    yes_option,
)
from footplate.cli.main import Noun
from footplate.cli.tables import print_list
from footplate.domain.datasets import ModelUse
from footplate.domain.records import ModelView
from footplate.sdk.display.status_line import working
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice_kinds import AksWebservice
from footplate.sdk.workspace import Workspace

model_argument = click.argument("model", metavar="NAME[:VERSION]", shell_complete=names_of("models"))


@click.group(cls=Noun)
def models() -> None:
    """List, register, download, deploy and delete models.

    NAME is the latest version of a model, NAME:VERSION a specific one.
    """


@models.command("list")
@click.option("--name", metavar="NAME", help="Only versions of this model.")
@tag_filter_option
@click.option("--latest", is_flag=True, help="Only the latest version of each.")
@in_workspace_with_json
def list_models(name: str | None, tags: tuple[str, ...], latest: bool, workspace: Workspace, as_json: bool) -> None:
    """List models, newest first."""
    views = list(workspace.session.api.models.list(workspace.id, name=name, tag=tags, latest=latest))
    print_list(
        as_json, views, "no models", ["name", "version", "size", "created", "run", "tags"],
        lambda m: [m.name, m.version, size(sum(f.size for f in m.files)), ago(m.created), m.run, tag_words(m.tags)],
        right=["version", "size"], shrink=["tags"], drop=["tags", "created", "size"],
    )  # fmt: skip


@models.command()
@model_argument
@in_workspace_with_json
def show(model: str, workspace: Workspace, as_json: bool) -> None:
    """Show a model."""
    view = _read(workspace, model)
    framework = " ".join(filter(None, [view.framework, view.framework_version]))
    facts = [
        ("name", view.name),
        ("version", view.version),
        ("description", view.description),
        ("framework", framework),
        ("created", f"{when(view.created)} ({ago(view.created)})"),
        ("experiment", view.experiment),
        ("run", view.run),
        ("snapshot", view.options.get("snapshot")),
        ("environment", view.options.get("lock")),
        ("datasets", ", ".join(f"{use.purpose}: {_dataset(use)}" for use in view.datasets)),
        *((kind, _columns(view, kind)) for kind in ("inputs", "outputs")),
        ("aliases", ", ".join(view.aliases)),
        ("tags", tag_words(view.tags)),
        ("properties", tag_words(view.properties)),
        ("files", "\n" + "\n".join(f"{f.path}  {size(f.size)}" for f in view.files)),
    ]
    emit_or_pairs(as_json, view, facts)


@models.command()
@click.argument("name")
@click.argument("path")
@click.option(
    "--run",
    "run_id",
    metavar="RUN",
    shell_complete=names_of("runs"),
    help="Take PATH from this run instead of this machine.",
)
@tags_option
@click.option("--description", metavar="TEXT")
@click.option("--framework", metavar="NAME", help="e.g. ScikitLearn, Onnx, PyTorch, TensorFlow, Custom")
@click.option("--framework-version", metavar="VERSION")
@workspace_option
@json_option
def register(name: str, path: str, run_id: str | None, workspace_name: str | None, as_json: bool, **about: Any) -> None:
    """Register a file or folder as the next version of a model."""
    settings: dict[str, Any] = {
        "tags": parse_pairs(about["tags"], "--tag"),
        "description": about["description"],
        "model_framework": about["framework"],
        "model_framework_version": about["framework_version"],
    }
    workspace = open_workspace(workspace_name)
    with contextlib.redirect_stdout(sys.stderr):  # the SDK prints progress, as Azure's does
        if run_id is not None:
            registered = find_run(workspace, run_id)[0].register_model(name, path, **settings)
        else:
            registered = Model.register(workspace, path, name, **settings)
    if as_json:
        emit(_read(workspace, f"{registered.name}:{registered.version}"))
    else:
        click.echo(f"{registered.name}:{registered.version}")


@models.command()
@model_argument
@folder_option
@click.option("--overwrite", is_flag=True, help="Overwrite existing files.")
@in_workspace_with_json
def download(model: str, folder: str, overwrite: bool, workspace: Workspace, as_json: bool) -> None:
    """Download the files of a model."""
    chosen = _open(workspace, model)
    path = chosen.download(target_dir=folder, exist_ok=overwrite)
    emit_or_echo(as_json, {"path": path}, path)


@models.command()
@model_argument
@click.argument("service")
@click.option("--script", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="A script with run(data).")
@click.option("--replicas", type=click.IntRange(1), default=1, show_default=True, help="The number of workers.")
@click.option("--cpu-cores", type=float, metavar="N", help="CPU cores of one worker.  [default: no limit]")
@click.option("--memory-gb", type=float, metavar="N", help="Memory of one worker.  [default: no limit]")
@click.option("--key/--no-key", "with_key", help="Require a key.  [default: --no-key]")
@click.option("--target", metavar="NAME", shell_complete=names_of("computes"),
              help="The compute target whose nodes run the workers.  [default: the server's machine]")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a service that exists.")
@in_workspace_with_json
def deploy(model: str, service: str, workspace: Workspace, as_json: bool, **options: Any) -> None:
    """Deploy a model as the web service SERVICE, and wait until it answers."""
    config = AksWebservice.deploy_configuration(
        num_replicas=options["replicas"], cpu_cores=options["cpu_cores"], memory_gb=options["memory_gb"],
        auth_enabled=options["with_key"],
    )  # fmt: skip
    script = InferenceConfig(options["script"]) if options["script"] else None
    deployed = Model.deploy(
        workspace, service, [_open(workspace, model)], script, config, options["target"], options["overwrite"]
    )
    with working(f"deploying {service}"):
        deployed.wait_for_deployment()
    if as_json:
        emit(workspace.session.api.endpoints.get(workspace.id, service))
    else:
        click.echo(deployed.scoring_uri)


@models.command("to-onnx")
@model_argument
@click.option(
    "--sample",
    metavar="FILE",
    type=click.File("rb"),
    help="Rows as the model takes them, as JSON.  [default: the sample input that the model was registered with]",
)
@click.option("--name", metavar="NAME", help="Register under this name.  [default: the next version of the model]")
@in_workspace_with_json
def to_onnx(model: str, sample: Any, name: str | None, workspace: Workspace, as_json: bool) -> None:
    """Convert a model to ONNX, compare both on a sample, and register the result."""
    rows = None if sample is None else _rows(sample)
    with working(f"converting {model}"):
        converted = _open(workspace, model).to_onnx(rows, name)
    if as_json:
        emit(_read(workspace, converted.id))
    else:
        click.echo(converted.id)


@models.command()
@click.argument("model", metavar="NAME:VERSION", shell_complete=names_of("models"))
@yes_option
@workspace_option
def delete(model: str, yes: bool, workspace_name: str | None) -> None:
    """Delete one version of a model."""
    if parse_version(model)[1] is None:
        raise click.BadParameter(f"{model!r} has no version", param_hint="NAME:VERSION")
    chosen = _open(open_workspace(workspace_name), model)
    confirm(f"delete model {model} for good?", yes)
    chosen.delete()
    say(f"{model} is deleted")


def _rows(sample: Any) -> Any:
    try:
        return json.load(sample)
    except ValueError as error:
        raise click.BadParameter(f"{sample.name} is not JSON: {error}", param_hint="--sample") from None


def _open(workspace: Workspace, model: str) -> Model:
    name, version = parse_version(model)
    return Model(workspace, name, version=version)


def _read(workspace: Workspace, model: str) -> ModelView:
    name, version = parse_version(model)
    return workspace.session.api.models.get(workspace.id, name, version or "latest")


def _dataset(use: ModelUse) -> str:
    return f"{use.dataset_name}:{use.version}" if use.dataset_name else use.dataset


def _columns(model: ModelView, kind: str) -> str:
    signature: dict[str, list[dict[str, str]]] = model.options.get("signature") or {}
    return ", ".join(f"{column['name']} {column['dtype']}" for column in signature.get(kind, ()))
