"""Options of `footplate run` become a ScriptRunConfig."""

from __future__ import annotations

from typing import Any, cast

import click
import pytest

from footplate.cli.main import Unusable
from footplate.cli.run import RunCommand, experiment_name
from footplate.cli.run_config import config_options, make_config
from footplate.sdk.config.run_configuration import distribution
from footplate.sdk.config.script_run_config import ScriptRunConfig, to_run_spec
from footplate.sdk.workspace import Workspace


def config(*words: str, command: bool = False, module: bool = False) -> ScriptRunConfig:
    """Return the configuration for this command line, whose options need no workspace."""
    made: list[ScriptRunConfig] = []

    @click.command(context_settings={"allow_interspersed_args": False})
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    @config_options
    def parse(words: tuple[str, ...], **given: Any) -> None:
        made.append(make_config(cast(Workspace, None), words, given, command, module))

    parse.main(list(words), standalone_mode=False)
    return made[0]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "train.sh").write_text("echo")
    return tmp_path


def command_of(config: ScriptRunConfig) -> str | None:
    program = to_run_spec(config, "e").program
    assert program is not None
    return program.command


def test_everything_after_the_script_belongs_to_it():
    made = config("--gpus", "2", "train.py", "--gpus", "4", "-t", "x")
    assert (made.script, made.arguments, made.run_config.gpus) == ("train.py", ["--gpus", "4", "-t", "x"], 2)


@pytest.mark.parametrize(
    ("words", "is_command"),
    [(["--", "bash", "x"], True), (["train.py", "--", "x"], False), (["--gpus", "1", "--", "a"], True), ([], False)],
)
def test_a_command_stands_after_two_dashes(words, is_command):
    @click.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    @click.option("--gpus")
    @click.pass_context
    def command(ctx: click.Context, words: tuple[str, ...], gpus: str | None) -> bool:
        return ctx.meta["footplate.is_command"]

    assert command.main(words, standalone_mode=False) is is_command


def test_commands_and_modules_are_quoted_for_the_shell():
    assert command_of(config("echo", "a  b", "$x", command=True)) == "echo 'a  b' '$x'"
    assert command_of(config("cd src && make", command=True)) == "cd src && make"
    assert command_of(config("pkg.train", "--lr", "1", module=True)) == ("python -m pkg.train --lr 1")


def test_shell_scripts_do_not_run_as_python(project):
    assert command_of(config("train.sh", "1")) == "bash train.sh 1"
    (project / "train.sh").write_text("#!/bin/zsh\n")
    (project / "train.sh").chmod(0o755)
    assert command_of(config("train.sh")) == "./train.sh"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--nodes", "2"], ("none", 2, None, 1)),
        (["--distribution", "torch", "--processes", "6", "--nodes", "2"], ("torch", 2, 6, 1)),
        (["--distribution", "mpi", "--processes", "6", "--nodes", "2"], ("mpi", 2, None, 3)),
        (["--distribution", "tensorflow", "--processes", "2"], ("tensorflow", 2, None, 1)),
    ],
)
def test_processes_are_distributed(options, expected):
    wanted = distribution(config(*options, "train.py").run_config)
    assert (wanted.kind, wanted.node_count, wanted.process_count, wanted.processes_per_node) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processes", "2"], "--processes needs --distribution"),
        (["--distribution", "mpi", "--backend", "gloo"], "--backend needs --distribution"),
        (["--distribution", "mpi", "--processes", "3", "--nodes", "2"], "cannot be spread evenly over 2 nodes"),
    ],
)
def test_impossible_distributions_are_refused(options, message):
    with pytest.raises(Unusable, match=message) as refused:
        config(*options, "train.py")
    assert refused.value.hint


def test_options_override_a_run_configuration_file(project):
    config("--timeout", "60", "--priority", "3", "--env", "A=1", "train.py").run_config.save(str(project), "base")
    file = str(project / ".azureml" / "base.runconfig")
    warning = ["--warning-signal", "SIGUSR1", "--warning-seconds", "9"]
    given = ["--priority", "5", "--env", "B=2", "--attempts", "4", *warning]
    made = config("--run-config", file, *given, "train.py").run_config
    assert (made.warning_signal, made.warning_seconds) == ("SIGUSR1", 9.0)
    assert (made.max_run_duration_seconds, made.priority, made.max_attempts) == (60, 5, 4)
    assert made.environment_variables == {"A": "1", "B": "2"}


def test_environments_come_from_files(project):
    (project / "requirements.txt").write_text("six\n")
    (project / "conda.yml").write_text("dependencies:\n- python=3.11\n- numpy\n")
    pip = config("-r", "requirements.txt", "train.py").run_config.environment
    assert list(pip.python.conda_dependencies.pip_packages) == ["six"]
    conda = config("--conda", "conda.yml", "train.py").run_config.environment
    assert "numpy" in list(conda.python.conda_dependencies.conda_packages)
    image = config("--image", "python:3.11", "-r", "requirements.txt", "train.py").run_config.environment
    assert image.docker.base_image == "python:3.11"
    with pytest.raises(click.UsageError, match="--requirements and --python: choose one of them"):
        config("-r", "requirements.txt", "--python", "p", "train.py")


def test_the_experiment_is_named_after_the_script_or_module():
    assert [experiment_name("src/my train.py"), experiment_name("pkg.train", True)] == ["my-train", "train"]
