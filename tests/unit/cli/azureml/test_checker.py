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
        ("from azureml.contrib.explain import x", 1, "azureml.contrib.explain", "interpret-community"),
        ("import azureml.train.automl", 1, "azureml.train.automl", "submit your own training script"),
        ("import azureml.nowhere", 1, "azureml.nowhere", ""),
        ("from azureml.core import Run\nRun.get_context().log_metric('a', 1)", 2, "Run.log_metric", "get_metrics"),
        ("from azureml.core import Run\nr = Run.get_context()\nr.log('a', valeu=1)", 3, "Run.log(valeu=)", "'value'"),
        ("from azureml.core import Workspace\nWorkspace.from_config(1, 2, 3, 4, 5)", 2, "Workspace.from_config", ""),
        ("from azureml.core import Workspace\nws = Workspace.from_config()\nws.sync_keys()", 3, "Workspace.sync_keys",
         "settings"),
        ("from azureml.core.compute import BatchCompute\nBatchCompute.provisioning_configuration()", 2,
         "BatchCompute.provisioning_configuration", "AmlCompute"),
        ("from azureml.core import Run\nrun = Run.get_context()\nbest, model = run.get_output()", 3, "Run.get_output",
         "runs of azureml.train.automl have it"),
        ("from azureml.core import Run\nrun = Run.get_context()\nrun.frobnicate()", 3, "Run.frobnicate", ""),
        ("from azureml.core import Experiment\nExperiment(None, 'e').submit(None, show_output=True)", 2,
         "Experiment.submit(show_output=)", "it belongs to azureml.train.automl"),
        ("from azureml.pipeline.steps import KustoStep\nKustoStep(name='x')", 2, "KustoStep", "azure-kusto-data"),
        ("import azureml.core as ac\nws = ac.Workspace.from_config()\nws.nmae", 3, "Workspace.nmae", "'name'"),
        ("from azureml.core.runconfig import RunConfiguration\nc = RunConfiguration()\nc.nodecount = 2", 3,
         "RunConfiguration.nodecount", "'node_count'"),
    ],
)  # fmt: skip
def test_missing_names_are_reported_at_their_line(tmp_path: Path, code: str, line: int, name: str, hint: str) -> None:
    (missing,) = [one for one in findings(tmp_path, code) if one.state == MISSING]
    assert (missing.place.line, missing.name) == (line, name)
    assert hint in missing.hint if hint else not missing.hint


def test_differences_and_ignored_keywords_are_reported(tmp_path: Path) -> None:
    code = """\
        from azureml.core.authentication import InteractiveLoginAuthentication
        from azureml.core.compute import AmlCompute
        auth = InteractiveLoginAuthentication(tenant_id="t")
        AmlCompute.provisioning_configuration(max_nodes=2, vnet_name="v")
    """
    assert {3, 4} == set(states(tmp_path, code, DIFFERS)) and states(tmp_path, code, MISSING) == {}


def test_a_guarded_import_is_not_missing(tmp_path: Path) -> None:
    code = "try:\n    from azureml.interpret import Explainer\nexcept ImportError:\n    Explainer = None\n"
    assert states(tmp_path, code, MISSING) == {} and states(tmp_path, code, DIFFERS) == {2: "azureml.interpret"}


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


def test_the_type_of_an_attribute_is_unknown_if_subclasses_have_another(tmp_path: Path) -> None:
    code = """\
        from azureml.core import Model, Workspace
        from azureml.core.webservice import AksEndpoint
        ws = Workspace.from_config()
        versions = Model.deploy(ws, "a", []).versions
        for x in versions:
            print(versions[x].name)
        versions = AksEndpoint(ws, "a").versions
        versions["x"].name, versions["x"].nothing, Model.list(ws)[:2].name
    """
    found = findings(tmp_path, code)
    assert [(one.place.line, one.name) for one in found if one.state == MISSING] == [(8, "EndpointVersion.nothing")]
    assert "Webservice.versions" in {one.name for one in found if one.state == WORKS}


def test_a_name_in_a_call_has_one_state(tmp_path: Path) -> None:
    code = """\
        from azureml.core import Run, Workspace
        from azureml.core.authentication import InteractiveLoginAuthentication
        ws = Workspace.from_config(auth=InteractiveLoginAuthentication())
        ws.sync_keys()
        Run.get_context().log("a", 1, stp=2)
    """
    lines = [(one.place.line, one.name, one.state) for one in findings(tmp_path, code) if one.place.line > 2]
    assert lines == [
        (3, "InteractiveLoginAuthentication", DIFFERS),
        (3, "Workspace.from_config", WORKS),
        (4, "Workspace.sync_keys", MISSING),
        (5, "Run.get_context", WORKS),
        (5, "Run.log(stp=)", MISSING),
    ]


CELLS = [
    "from azureml.core import Run, Workspace",
    "  ws = Workspace.from_config()\n  print(ws.nmae)",
    "\n    if ws:\n        !ls \\\n  -a\n        files = !ls\n        ws.datastroes",
    "print 'old'",
    "Run?\n%matplotlib inline\nprint('a %s'\n      %ws.resource_grup)",
    "def f():\n    pass\n  return 1",
    "Run.get_context().complte()",
]


def test_a_cell_that_is_not_python_hides_no_other(tmp_path: Path) -> None:
    file = tmp_path / "odd.ipynb"
    cells = [{"cell_type": "code", "source": source} for source in CELLS]
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (program,) = read_programs(file)
    found = [(one.place.cell, one.place.line, one.state, one.name) for one in check(program) if one.state != WORKS]
    assert found == [
        (2, 2, MISSING, "Workspace.nmae"),
        (3, 6, MISSING, "Workspace.datastroes"),
        (4, 1, UNREADABLE, str(file)),
        (5, 4, MISSING, "Workspace.resource_grup"),
        (6, 3, UNREADABLE, str(file)),
        (7, 1, MISSING, "Run.complte"),
    ]


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


def test_a_file_that_is_not_python_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\ndef f(:\n")
    done = CliRunner().invoke(azureml, ["check", str(tmp_path / "bad.py")], standalone_mode=False)
    assert f"{tmp_path / 'bad.py'}:2: unreadable not Python: " in done.output
