"""The options of `footplate run` that describe a run, and the ScriptRunConfig made from them."""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from footplate.cli.context import names_of, parse_engine_options, parse_pairs, requirements_environment
from footplate.cli.main import Unusable
from footplate.domain.specs import RESTART_CAUSES, WARNING_SIGNALS
from footplate.sdk.config.run_configuration import (
    DEFAULT_MAX_SECONDS,
    DistributedJob,
    RunConfiguration,
    distribute,
)
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.references import DataPath
from footplate.sdk.environments.environment import Environment
from footplate.sdk.values.run_configuration_sections import (
    MpiConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)
from footplate.sdk.workspace import Workspace

C = TypeVar("C", bound=Callable[..., Any])
_FILE = click.Path(exists=True, dir_okay=False)
_COUNT = click.IntRange(1)
ENVIRONMENTS = ("requirements", "conda", "environment", "image", "python")
_FIELDS = {
    "target": "target",
    "timeout": "max_run_duration_seconds",
    "nodes": "node_count",
    "gpus": "gpus",
    "gpus_per_process": "gpus_per_process",
    "warning_signal": "warning_signal",
    "warning_seconds": "warning_seconds",
    "attempts": "max_attempts",
    "priority": "priority",
    "notify": "notify",
}
"""Options that set one field of the run configuration."""
_SHELLS = (".sh", ".bash")
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

SHARED_OPTIONS = (
    click.option(
        "-t", "--target", metavar="NAME", shell_complete=names_of("computes"),
        help="The compute target.  [default: local]",
    ),
    click.option("-r", "--requirements", type=_FILE, help="A requirements file with the packages to install."),
    click.option("--conda", type=_FILE, help="A conda file with the packages to install."),
    click.option(
        "--environment", metavar="NAME[:VERSION]", shell_complete=names_of("environments"),
        help="A registered or a curated environment.",
    ),
    click.option("--image", metavar="IMAGE", help="A container image to run in."),
    click.option("--python", metavar="PATH", help="The interpreter to use as it is.  [default: the current one]"),
    click.option("--env", "variables", multiple=True, metavar="KEY=VALUE", help="An environment variable; repeatable."),
    click.option("--env-file", type=_FILE, help="A file of environment variables, one KEY=VALUE per line."),
    click.option(
        "--input", "inputs", multiple=True, metavar="NAME=DATA[@MODE]",
        help="Data to read: DATASET[:VERSION] or DATASTORE:PATH; MODE is download (default), mount or direct. "
        "'$NAME' among the arguments becomes its path. Repeatable.",
    ),
    click.option(
        "--gpus", type=click.IntRange(0), metavar="N",
        help="GPUs of each node for exclusive use.  [default: one, if it is free]",
    ),
    click.option("--timeout", type=float, metavar="SECONDS", help="Stop the run as failed after this time."),
    click.option(
        "--run-config", type=_FILE, help="A .runconfig file to start from; other options override its fields."
    ),
)  # fmt: skip
"""The options that sweeps have too."""

_OPTIONS = (
    *SHARED_OPTIONS,
    click.option(
        "--source-dir", type=click.Path(exists=True, file_okay=False),
        help="The folder to copy to the run.  [default: this folder, or the script's if it is elsewhere]",
    ),
    click.option(
        "--output", "outputs", multiple=True, metavar="NAME[=DATASTORE:PATH][@MODE]",
        help="A folder to keep as a dataset; MODE is mount (default) or upload. '$NAME' becomes its path. Repeatable.",
    ),
    click.option("--resume-from", metavar="DATASTORE:PATH", help="A checkpoint, passed as --resume-from."),
    click.option("--nodes", type=_COUNT, metavar="N", help="The number of nodes.  [default: 1]"),
    click.option("--processes", type=_COUNT, metavar="N", help="Processes over all nodes; needs --distribution."),
    click.option(
        "--distribution", type=click.Choice(["torch", "mpi", "tensorflow"]), help="How the processes find each other."
    ),
    click.option("--backend", type=click.Choice(["nccl", "gloo"]), help="Of torch.  [default: nccl]"),
    click.option(
        "--parameter-servers", type=click.IntRange(0), metavar="N", help="Of tensorflow.  [default: 0]"
    ),
    click.option("--gpus-per-process", type=click.IntRange(0), metavar="N", help="GPUs of each process."),
    click.option(
        "--warning-signal", type=click.Choice(WARNING_SIGNALS),
        help="Sent to the script before a time limit ends it, if it handles this signal.  [default: none]",
    ),
    click.option(
        "--warning-seconds", type=float, metavar="SECONDS",
        help="Time between the signal and --timeout.  [default: 120, at most half of --timeout]",
    ),
    click.option("--attempts", type=_COUNT, metavar="N", help="Attempts in total.  [default: 1]"),
    click.option(
        "--restart-on", multiple=True, type=click.Choice(list(RESTART_CAUSES)),
        help="With --attempts: the failures to retry; repeatable.  [default: node_lost, preempted, engine_time_limit]",
    ),
    click.option(
        "--notify", is_flag=True, default=None, help="Send a message when the run ends, as settings.ini configures it."
    ),
    click.option(
        "--engine-option", "engine_options", multiple=True, metavar="KEY=VALUE",
        help="An option of the target's engine for this run only, such as partition=long; repeatable.",
    ),
    click.option("--priority", type=int, metavar="N", help="Runs with a higher priority start first.  [default: 0]"),
)  # fmt: skip


def config_options(command: C, options: Sequence[Callable[[Any], Any]] = _OPTIONS) -> C:
    """Add the options that describe a run."""
    for option in reversed(options):
        command = option(command)
    return command


def make_config(
    workspace: Workspace, words: Sequence[str], given: dict[str, Any], is_command: bool, is_module: bool
) -> ScriptRunConfig:
    """Return the configuration for a script, a module or a command, with the data and settings of the options."""
    run_config = make_run_config(workspace, given)
    folder = given["source_dir"] or ("." if is_command or is_module else _source_folder(words[0]))
    config = ScriptRunConfig(source_directory=folder, run_config=run_config)
    if is_command:
        config.command = _command(words, run_config)
    elif is_module:
        config.command = _command(["python", "-m", *words], run_config)
    elif words[0].endswith(_SHELLS):
        config.command = _command([*_interpreter(words[0], folder), *words[1:]], run_config)
    else:
        config.script = os.path.relpath(words[0], folder)
        config.arguments = list(words[1:])
    if given["resume_from"]:
        config.resume_from = DataPath(*_datastore_path(workspace, given["resume_from"], "--resume-from"))
    return config


def make_run_config(workspace: Workspace, options: Mapping[str, Any]) -> RunConfiguration:
    """Return the run configuration that the options describe, by name; those that are missing are not given."""
    given_options: dict[str, Any] = defaultdict(lambda: None, options)
    config = RunConfiguration.load(given_options["run_config"]) if given_options["run_config"] else RunConfiguration()
    job = _distribution(given_options)
    if job is not None:
        distribute(config, job)
    if config.max_run_duration_seconds is None:
        config.max_run_duration_seconds = DEFAULT_MAX_SECONDS
    fields = {field: given_options[option] for option, field in _FIELDS.items() if given_options[option] is not None}
    environment = _environment(workspace, given_options)
    if environment is not None:
        fields["environment"] = environment
    if given_options["restart_on"]:
        fields["restart_causes"] = list(given_options["restart_on"])
    for field, value in fields.items():
        setattr(config, field, value)
    config.engine_options.update(parse_engine_options(given_options["engine_options"] or (), "--engine-option"))
    from_file = _read_variables(given_options["env_file"]) if given_options["env_file"] else {}
    config.environment_variables.update({**from_file, **parse_pairs(given_options["variables"] or (), "--env")})
    for text in given_options["inputs"] or ():
        config.data.update(_input(workspace, text))
    for text in given_options["outputs"] or ():
        config.output_data.update(_output(workspace, text))
    return config


# ── The program ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _source_folder(script: str) -> str:
    """Return this folder if the script is below it: `footplate run src/train.py` copies everything. Else its own."""
    path = Path(script).resolve()
    return "." if Path.cwd() in path.parents else str(path.parent)


def _interpreter(script: str, folder: str) -> list[str]:
    """Return the words that run a shell script: the script itself if it can be executed, else bash with it."""
    inside = os.path.relpath(script, folder)
    with open(script, "rb") as file:
        has_shebang = file.read(2) == b"#!"
    return [f"./{inside}"] if has_shebang and os.access(script, os.X_OK) else ["bash", inside]


def _command(words: Sequence[str], run_config: RunConfiguration) -> list[Any] | str:
    """Return the words quoted for the shell of the run. `$NAME` is the path of an input or an output with that name."""
    data = {**run_config.data, **run_config.output_data}
    if len(words) == 1 and " " in words[0]:
        return words[0]  # a whole command line: footplate run -- 'cd src && make'
    return [_word(word, data) for word in words]


def _word(word: str, data: dict[str, Any]) -> Any:
    reference = _REFERENCE.fullmatch(word)
    name = reference and (reference[1] or reference[2])
    return data[name] if name in data else shlex.quote(word)


# ── Environment and processes ─────────────────────────────────────────────────────────────────────────────────────────


def _environment(workspace: Workspace, given: dict[str, Any]) -> Environment | None:
    chosen = [name for name in ENVIRONMENTS if given[name]]
    if len(chosen) > 1 and not (chosen[-1] == "image" and len(chosen) == 2 and chosen[0] != "environment"):
        raise click.UsageError(f"{' and '.join(f'--{name}' for name in chosen)}: choose one of them")
    if given["image"]:
        return Environment.from_docker_image(
            "image", given["image"], conda_specification=given["conda"], pip_requirements=given["requirements"]
        )
    if given["requirements"]:
        return requirements_environment(given["requirements"])
    if given["conda"]:
        return Environment.from_conda_specification(Path(given["conda"]).stem, given["conda"])
    if given["environment"]:
        name, _, version = given["environment"].partition(":")
        return Environment.get(workspace, name, version or None)
    return _existing(given["python"]) if given["python"] else None


def _existing(python: str) -> Environment:
    environment = Environment("interpreter")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = python
    return environment


def _distribution(given: dict[str, Any]) -> DistributedJob | None:
    kind = given["distribution"]
    nodes = given["nodes"] or 1
    processes = given["processes"]
    for option, needs in (("processes", None), ("backend", "torch"), ("parameter_servers", "tensorflow")):
        if given[option] is not None and (kind is None or needs not in (None, kind)):
            name = option.replace("_", "-")
            raise Unusable(
                f"--{name} needs --distribution", f"add --distribution {needs or 'torch, mpi or tensorflow'}"
            )
    if kind == "torch":
        return PyTorchConfiguration((given["backend"] or "nccl").capitalize(), processes, nodes)
    if kind == "mpi":
        if processes is not None and processes % nodes:
            raise Unusable(
                f"--processes {processes} cannot be spread evenly over {nodes} nodes",
                f"mpi starts the same number on each node: use a multiple of {nodes}",
            )
        return MpiConfiguration((processes or nodes) // nodes, nodes)
    if kind == "tensorflow":
        return TensorflowConfiguration(processes or nodes, given["parameter_servers"] or 0)
    return None


# ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _input(workspace: Workspace, text: str) -> dict[str, DatasetConsumptionConfig]:
    name, source, mode = _parts(text, "--input")
    if not source:
        raise click.BadParameter(f"{text!r} is not NAME=DATA", param_hint="--input")
    registered, colon, version = source.partition(":")
    if not colon or version.isdigit() or version == "latest":
        dataset: Any = Dataset.get_by_name(workspace, registered, version or "latest")
    else:
        dataset = Dataset.File.from_files(_datastore_path(workspace, source, "--input"), validate=False)
    default = "direct" if getattr(dataset, "kind", "file") == "tabular" else "download"
    return {name: DatasetConsumptionConfig(name, dataset, mode or default)}


def _output(workspace: Workspace, text: str) -> dict[str, OutputFileDatasetConfig]:
    name, place, mode = _parts(text, "--output")
    output = OutputFileDatasetConfig(name, _datastore_path(workspace, place, "--output") if place else None)
    if mode not in ("", "mount", "upload"):
        raise click.BadParameter(f"{mode!r} is not mount or upload", param_hint="--output")
    return {name: output.as_upload() if mode == "upload" else output}


def _parts(text: str, option: str) -> tuple[str, str, str]:
    """Split NAME=VALUE@MODE; VALUE and MODE may be missing."""
    head, at, tail = text.rpartition("@")
    rest, mode = (head, tail) if at else (text, "")
    name, _, value = rest.partition("=")
    if not name:
        raise click.BadParameter(f"{text!r} has no name", param_hint=option)
    return name, value, mode


def _datastore_path(workspace: Workspace, text: str, option: str) -> tuple[Any, str]:
    store, colon, path = text.partition(":")
    if not colon or not store:
        raise click.BadParameter(
            f"{text!r} is not DATASTORE:PATH; upload files first with `footplate datastore upload`", param_hint=option
        )
    return Datastore.get(workspace, store), path


def _read_variables(path: str) -> dict[str, str]:
    """Read KEY=VALUE lines. Empty lines and lines starting with # are skipped; quotes are not special."""
    try:
        lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError:
        raise click.BadParameter(f"{path!r} is not a text file in UTF-8", param_hint="--env-file") from None
    return parse_pairs([line for line in lines if line and not line.startswith("#")], "--env-file")
