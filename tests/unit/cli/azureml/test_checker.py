"""Programs as users write them: uses of Azure names that work, differ and are missing, with their lines."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from footplate.cli.azureml.checker import DIFFERS, MISSING, UNREADABLE, WORKS, Finding, check
from footplate.cli.azureml.code_files import find_files, read_programs
from footplate.cli.azureml.commands import azureml
from footplate.errors import InvalidInput, NotFound


def findings(tmp_path: Path, code: str) -> list[Finding]:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(code))
    (program,) = read_programs(file)
    return check(program)


def states(tmp_path: Path, code: str, state: str) -> dict[int, str]:
    """Return {line: name} of the uses in this state."""
    return {one.place.line: one.name for one in findings(tmp_path, code) if one.state == state}


TRAINING = """\
    import azureml.core
    from azureml.core import Dataset, Experiment, ScriptRunConfig, Workspace
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException
    from azureml.widgets import RunDetails

    print(azureml.core.VERSION)
    ws = Workspace.from_config()
    print(ws.name, ws.resource_group, sep="\\n")
    try:
        target = ComputeTarget(workspace=ws, name="cpu")
    except ComputeTargetException:
        target = ComputeTarget.create(ws, "cpu", AmlCompute.provisioning_configuration(max_nodes=4, vm_size="D2"))
        target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    print(target.get_status().serialize())
    store = ws.get_default_datastore()
    store.upload(src_dir="data", target_path="data", overwrite=True, show_progress=True)
    data = Dataset.File.from_files(path=(store, "data")).as_named_input("data").as_mount()
    src = ScriptRunConfig(source_directory=".", script="train.py", arguments=["--data", data], compute_target=target)
    src.run_config.environment.docker.enabled = True
    run = Experiment(ws, "e").submit(src)
    RunDetails(run).show()
    run.wait_for_completion(show_output=True)
    for child in run.get_children():
        print(child.get_metrics()["loss"], ws.compute_targets["cpu"].get_status())
    with Experiment(ws, "e").start_logging() as logged:
        logged.log("a", 1)
"""


def test_a_usual_notebook_has_nothing_missing(tmp_path: Path) -> None:
    found = findings(tmp_path, TRAINING)
    assert [one for one in found if one.state == MISSING] == []
    works = {one.name for one in found if one.state == WORKS}
    assert {"Workspace.from_config", "AmlCompute.get_status", "Run.get_metrics", "azureml.core.VERSION"} <= works
    assert {one.place.line for one in found if one.name == "AmlCompute.provisioning_configuration"} == {13}


@pytest.mark.parametrize(
    ("code", "line", "name", "hint"),
    [
        ("from azureml.core import Workspac", 1, "azureml.core.Workspac", "did you mean 'Workspace'?"),
        ("from azureml.pipeline.core import Pipeline", 1, "azureml.pipeline.core", "submit one run after another"),
        ("import azureml.train.automl", 1, "azureml.train.automl", "submit your own training script"),
        ("import azureml.nowhere", 1, "azureml.nowhere", ""),
        ("from azureml.core import Run\nRun.get_context().log_metric('a', 1)", 2, "Run.log_metric", "get_metrics"),
        ("from azureml.core import Run\nr = Run.get_context()\nr.log('a', valeu=1)", 3, "Run.log(valeu=)", "'value'"),
        ("from azureml.core import Workspace\nWorkspace.from_config(1, 2, 3, 4, 5)", 2, "Workspace.from_config", ""),
        ("from azureml.core import Workspace\nws = Workspace.from_config()\nws.sync_keys()", 3, "Workspace.sync_keys",
         "settings"),
        ("from azureml.core.compute import BatchCompute\nBatchCompute.provisioning_configuration()", 2,
         "BatchCompute.provisioning_configuration", "AmlCompute"),
        ("import azureml.core as ac\nws = ac.Workspace.from_config()\nws.nmae", 3, "Workspace.nmae", "'name'"),
        ("from azureml.core.runconfig import RunConfiguration\nc = RunConfiguration()\nc.nodecount = 2", 3,
         "RunConfiguration.nodecount", "'node_count'"),
    ],
)  # fmt: skip
def test_missing_names_are_reported_at_their_line(tmp_path: Path, code: str, line: int, name: str, hint: str) -> None:
    (missing,) = [one for one in findings(tmp_path, code) if one.state == MISSING]
    assert (missing.place.line, missing.name) == (line, name)
    assert hint in missing.hint


def test_differences_and_ignored_keywords_are_reported(tmp_path: Path) -> None:
    code = """\
        from azureml.core.authentication import InteractiveLoginAuthentication
        from azureml.core.compute import AmlCompute
        auth = InteractiveLoginAuthentication(tenant_id="t")
        AmlCompute.provisioning_configuration(max_nodes=2, vnet_name="v")
    """
    assert {3, 4} == set(states(tmp_path, code, DIFFERS)) and states(tmp_path, code, MISSING) == {}


def test_a_guarded_import_is_not_missing(tmp_path: Path) -> None:
    code = "try:\n    from azureml.pipeline.core import Pipeline\nexcept ImportError:\n    Pipeline = None\n"
    assert states(tmp_path, code, MISSING) == {} and states(tmp_path, code, DIFFERS) == {2: "azureml.pipeline.core"}


def test_unknown_objects_are_left_alone(tmp_path: Path) -> None:
    code = """\
        from azureml.core import Run, Workspace
        ws = Workspace.from_config()
        def use(ws, run: Run):
            ws.anything()
            run.log("a", 1, stp=2)
        ws = object()
        ws.whatever
    """
    assert states(tmp_path, code, MISSING) == {5: "Run.log(stp=)"}


def test_code_that_is_not_python_is_reported(tmp_path: Path) -> None:
    assert states(tmp_path, "print 'old'\n", UNREADABLE) == {1: str(tmp_path / "program.py")}


def notebook(tmp_path: Path) -> Path:
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip install x\n", "from azureml.core import Run"]},
        {"cell_type": "code", "source": "%%bash\nls"},
        {"cell_type": "code", "source": "%%writefile train.py\nfrom azureml.core import Run\nRun.get_contxt()"},
        {"cell_type": "code", "source": "run = Run.get_context()\nrun.complte()"},
    ]
    file = tmp_path / "nb.ipynb"
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    return file


def test_a_notebook_is_one_program_and_the_files_it_writes(tmp_path: Path) -> None:
    main, written = read_programs(notebook(tmp_path))
    (wrong,) = [one for one in check(main) if one.state == MISSING]
    assert (wrong.place.cell, wrong.place.line, wrong.name) == (4, 2, "Run.complte")
    (other,) = [one for one in check(written) if one.state == MISSING]
    assert (written.name, other.place.cell, other.place.line, other.name) == ("train.py", 3, 3, "Run.get_contxt")


def test_folders_are_searched_and_bad_paths_are_named(tmp_path: Path) -> None:
    notebook(tmp_path)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.py").touch()
    (tmp_path / "broken.ipynb").write_text("{")
    assert [file.name for file in find_files([str(tmp_path)])] == ["broken.ipynb", "nb.ipynb"]
    with pytest.raises(InvalidInput, match=r"broken\.ipynb cannot be read"):
        read_programs(tmp_path / "broken.ipynb")
    with pytest.raises(NotFound, match="nowhere"):
        list(find_files(["nowhere"]))


def test_the_command_prints_lines_and_sets_the_exit_code(tmp_path: Path) -> None:
    file = notebook(tmp_path)
    done = CliRunner().invoke(azureml, ["check", str(file)], standalone_mode=False)
    assert done.return_value == 1
    assert "nb.ipynb: cell 4, line 2: missing    Run.complte: Run has no complte" in done.output
    assert "did you mean 'complete'?" in done.output and "works" not in done.stdout
    data = json.loads(CliRunner().invoke(azureml, ["check", str(file), "--json"], standalone_mode=False).stdout)
    assert {"cell", "file", "hint", "line", "message", "name", "state"} == set(data[0])
    (tmp_path / "fine.py").write_text("from azureml.core import Run\n")
    fine = CliRunner().invoke(azureml, ["check", "--all", str(tmp_path / "fine.py")], standalone_mode=False)
    assert fine.return_value == 0 and "fine.py:1: works      azureml.core.Run" in fine.output
