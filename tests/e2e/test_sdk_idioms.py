"""Typical user code: small scripts with only `azureml` imports, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.shared_home


def run_script(project: Path, code: str) -> list[str]:
    """Return the output of the script, which must succeed and end with a success line."""
    (project / "notebook.py").write_text(textwrap.dedent(code) + "\nprint('THE END')\n")
    done = subprocess.run([sys.executable, "notebook.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "THE END", done.stdout
    return lines


def test_manage_runs_script_works(project: Path):
    source = project / "hello"
    source.mkdir()
    (source / "hello.py").write_text("print('hello')\n")
    (source / "sleep.py").write_text("import time\ntime.sleep(60)\n")
    (source / "parent.py").write_text(
        textwrap.dedent("""
        from azureml.core import Run
        run = Run.get_context()
        for index in range(3):
            with run.child_run(name=f"fold {index}") as child:
                child.log("fold", index)
        run.tag("made", "children")
        """)
    )
    lines = run_script(
        project,
        """
        import azureml.core
        from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
        from azureml.core.run import get_run
        print("SDK", azureml.core.VERSION)
        ws = Workspace.from_config()
        exp = Experiment(workspace=ws, name="manage-runs")

        notebook_run = exp.start_logging()
        notebook_run.log(name="message", value="Hello from run!")
        print(notebook_run.get_status())
        notebook_run.complete()
        print(notebook_run.get_status())
        with exp.start_logging() as in_block:
            in_block.log(name="message", value="in a block")
            print(in_block.get_status())
        print(in_block.get_status())

        local = exp.submit(ScriptRunConfig(source_directory="hello", script="hello.py"))
        local.wait_for_completion(show_output=True)
        details = local.get_details()
        assert details["runDefinition"]["script"] == "hello.py" and "endTimeUtc" in details

        to_cancel = exp.submit(ScriptRunConfig(source_directory="hello", script="sleep.py"))
        to_cancel.cancel()
        assert to_cancel.get_status() in ("CancelRequested", "Canceled")
        assert to_cancel.wait_for_completion()["status"] == "Canceled"
        to_fail = exp.submit(ScriptRunConfig(source_directory="hello", script="sleep.py"))
        to_fail.fail()
        assert to_fail.wait_for_completion(raise_on_error=False)["status"] == "Failed"

        parent = exp.submit(ScriptRunConfig(source_directory="hello", script="parent.py"))
        parent.wait_for_completion()
        assert sorted(c.get_metrics()["fold"] for c in parent.get_children()) == [0, 1, 2]
        assert all(c.parent.id == parent.id for c in parent.get_children(recursive=True))
        assert len(parent.get_metrics(recursive=True)) == 3 and parent.get_metrics() == {}

        local.add_properties({"author": "azureml-user"})
        try:
            local.add_properties({"author": "different-user"})
            raise SystemExit("a property was changed")
        except Exception as e:
            print("refused:", type(e).__name__)
        local.tag("quality", "great run")
        local.tag("worth another look")
        print(local.get_tags())
        assert [r.id for r in exp.get_runs(properties={"author": "azureml-user"}, tags={"quality": "great run"})] == [
            local.id]
        assert [r.id for r in exp.get_runs(properties={"author": "azureml-user"}, tags="worth another look")] == [
            local.id]
        assert get_run(exp, local.id).id == Run(exp, run_id=local.id).id == ws.get_run(local.id).id == local.id
        assert {r.get_status() for r in exp.get_runs()} == {"Completed", "Canceled", "Failed"}
        """,
    )
    assert lines[1:5] == ["Running", "Completed", "Running", "Completed"]
    assert "hello" in lines and "{'quality': 'great run', 'worth another look': None}" in lines


def test_notebook_training_script_works(project: Path):
    (project / "data.csv").write_text("1,2\n")
    lines = run_script(
        project,
        """
        import os, pickle
        from azureml.core import Experiment, Workspace
        from azureml.core.model import Model
        ws = Workspace.from_config()
        print(ws.name, ws.resource_group, ws.location, ws.subscription_id, sep="\\n")
        experiment = Experiment(workspace=ws, name="train-within-notebook")
        run = experiment.start_logging()
        run.log("alpha", 0.03)
        run.log("mse", 0.5)
        os.makedirs("outputs", exist_ok=True)
        with open("outputs/model.pkl", "wb") as file:
            pickle.dump({"alpha": 0.03}, file)
        run.upload_file(name="outputs/model.pkl", path_or_stream="./outputs/model.pkl")
        run.complete()
        assert run.get_metrics() == {"alpha": 0.03, "mse": 0.5}

        root = experiment.start_logging()
        for alpha in (0.1, 0.2, 0.3):
            with root.child_run("alpha-" + str(alpha)) as child:
                child.log(name="alpha", value=alpha)
                child.log(name="mse", value=(alpha - 0.2) ** 2)
                name = "model_alpha_" + str(alpha) + ".pkl"
                with open(name, "wb") as file:
                    pickle.dump(alpha, file)
                child.upload_file(name="outputs/" + name, path_or_stream=name)
        root.complete()
        metrics = root.get_metrics(recursive=True)
        best_id = min(metrics, key=lambda k: metrics[k]["mse"])
        best = next(r for r in root.get_children() if r.id == best_id)
        assert best.get_metrics()["alpha"] == 0.2
        print([f for f in best.get_file_names() if f.startswith("outputs/")])
        best.download_file(name="outputs/model_alpha_0.2.pkl", output_file_path="best.pkl")
        assert pickle.load(open("best.pkl", "rb")) == 0.2
        model = best.register_model(model_name="best", model_path="outputs/model_alpha_0.2.pkl", tags={"alpha": 0.2})
        print(model.name, model.version, model.tags)
        registered = Model.register(model_path="best.pkl", model_name="from_file.pkl", tags={"area": "x"},
                                    description="a model", workspace=ws)
        for m in Model.list(workspace=ws, tags=["area"]):
            print("Name:", m.name, "\\tVersion:", m.version, "\\tDescription:", m.description, m.tags)
        assert registered.download(target_dir=os.getcwd(), exist_ok=True) == os.path.join(os.getcwd(), "best.pkl")
        """,
    )
    group = json.loads((project / ".azureml" / "config.json").read_text())["resource_group"]
    assert lines[:4] == ["testing", group, "local", "local"]
    assert "['outputs/model_alpha_0.2.pkl']" in lines and "best 1 {'alpha': '0.2'}" in lines


def test_local_training_script_works(project: Path):
    source = project / "code"
    source.mkdir()
    (source / "helper.py").write_text("def rates():\n    return [0.1, 0.2]\n")
    (source / "train.py").write_text(
        textwrap.dedent("""
        import os
        import helper
        from azureml.core import Run
        from azureml.core.run import _OfflineRun
        run = Run.get_context()
        if not isinstance(run, _OfflineRun):
            ws = run.experiment.workspace
            print("in workspace", ws.name, "experiment", run.experiment.name)
            assert run.get_details()["runId"] == run.id == ws.get_run(run.id).id
        os.makedirs("./outputs", exist_ok=True)
        for rate in helper.rates():
            run.log("rate", rate)
            with open(os.path.join("./outputs", f"ridge_{rate}.pkl"), "w") as file:
                file.write(str(rate))
        assert run.get_metrics()["rate"] == [0.1, 0.2]
        """)
    )
    lines = run_script(
        project,
        """
        import sys
        from azureml.core import Environment, Experiment, RunConfiguration, ScriptRunConfig, Workspace
        from azureml.core.compute_target import LocalTarget
        ws = Workspace.from_config()
        exp = Experiment(workspace=ws, name="train-on-local")
        user_managed_env = Environment("user-managed-env")
        user_managed_env.python.user_managed_dependencies = True
        user_managed_env.python.interpreter_path = sys.executable
        src = ScriptRunConfig(source_directory="./code", script="train.py")
        src.run_config.environment = user_managed_env
        run = exp.submit(src)
        print(run)
        run.wait_for_completion(show_output=True)

        old_style = RunConfiguration()
        old_style.target = LocalTarget()
        old_style.environment.python.user_managed_dependencies = True
        old_style.environment.python.interpreter_path = sys.executable
        twice = ScriptRunConfig(source_directory="./code", script="train.py", run_config=old_style)
        runs = [exp.submit(twice), exp.submit(config=twice, tags={"again": "yes"})]
        for each in runs:
            assert each.wait_for_completion(raise_on_error=True)["status"] == "Completed"
        assert runs[1].get_tags() == {"again": "yes"} and runs[0].get_details()["target"] == "local"
        assert run.get_environment().name == "user-managed-env"
        best = max(zip(run.get_metrics()["rate"], sorted(f for f in run.get_file_names() if "ridge" in f)))
        print(best)
        """,
    )
    assert "in workspace testing experiment train-on-local" in lines and "(0.2, 'outputs/ridge_0.2.pkl')" in lines
    assert lines[0] == "Run(Experiment: train-on-local,"


def test_logging_script_works(project: Path):
    run_script(
        project,
        """
        import math
        from azureml.core import Experiment, Run, Workspace
        ws = Workspace.from_config()
        run = Experiment(workspace=ws, name="logging-api").start_logging(outputs=None, snapshot_directory=".")
        run.log(name="string", value="text", description="one value")
        run.log("scalar", 3)
        run.log_list("fibonacci", [0, 1, 1, 2, 3, 5, 8])
        for angle in range(3):
            run.log_row("cosine", angle=angle, cos=math.cos(angle))
        run.log_table("sine", {"angle": [0, 1], "sine": [0.0, math.sin(1)]})
        run.log_confusion_matrix("matrix", {
            "schema_type": "confusion_matrix", "parameters": None,
            "data": {"class_labels": ["0", "1"], "matrix": [[3, 0], [1, 2]]}})
        run.log_accuracy_table("accuracy", '{"schema_type": "accuracy_table", "data": {}}')
        run.log_predictions("predictions", {"schema_type": "predictions", "data": {"bin_averages": [0.25]}})
        run.log_residuals("residuals", {"schema_type": "residuals", "data": {"bin_edges": [1]}})

        class Figure:
            def savefig(self, target, format=None):
                target.write(b"\\x89PNG\\r\\n" + bytes(10))

        run.log_image(name="plot", plot=Figure())
        with open("myfile.txt", "w") as f:
            f.write("This is an output file")
        run.upload_file(name="myfile.txt", path_or_stream="myfile.txt")
        run.complete()
        fetched = Run(run.experiment, run.id)
        metrics = fetched.get_metrics()
        assert list(metrics["cosine"]) == ["angle", "cos"] and metrics["cosine"]["angle"] == [0, 1, 2]
        assert metrics["fibonacci"] == [0, 1, 1, 2, 3, 5, 8] and metrics["string"] == "text" and metrics["scalar"] == 3
        assert metrics["sine"] == {"angle": [0, 1], "sine": [0.0, math.sin(1)]}
        for name in ("matrix", "accuracy", "predictions", "residuals", "plot"):
            assert metrics[name].startswith("aml://artifactId/ExperimentRun/dcid." + run.id + "/" + name), metrics[name]
        assert fetched.get_metrics(name="scalar") == {"scalar": 3}
        files = fetched.get_file_names()
        assert {"myfile.txt", "matrix", "accuracy", "predictions", "residuals"} < set(files)
        fetched.download_file(name="myfile.txt", output_file_path="downloaded_myfile.txt")
        assert open("downloaded_myfile.txt").read() == "This is an output file"
        fetched.tag("deployable", True)
        assert fetched.get_tags() == {"deployable": "True"}
        """,
    )


def test_old_habits_work_inside_a_job(project: Path):
    """Submitted runs, the parent of a child, forked workers, two logs of one name, a script that fails its run."""
    source = project / "code"
    source.mkdir()
    (source / "child.py").write_text(
        "from azureml.core import Run\nrun = Run.get_submitted_run()\nrun.parent.log('from the child', 1)\n"
    )
    (source / "train.py").write_text(
        textwrap.dedent("""
        import multiprocessing
        from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
        from azureml.core.run import _SubmittedRun

        def work(index):
            Run.get_context().log("worker", index)

        run = Run.get_context(allow_offline=False)
        assert isinstance(run, _SubmittedRun) and run is Run.get_context()
        ws = run.experiment.workspace
        assert ws.name == Workspace.get(ws.name, subscription_id=ws.subscription_id,
                                        resource_group=ws.resource_group).name
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(work, range(4))
        assert sorted(run.get_metrics("worker")["worker"]) == [0, 1, 2, 3]
        child = run.submit_child(ScriptRunConfig(".", "child.py"), tags={"kind": "child"})
        assert child.wait_for_completion()["status"] == "Completed" and child.parent.id == run.id
        assert [c.id for c in run.get_children(tags={"kind": "child"})] == [child.id]
        assert run.get_metrics("from the child") == {"from the child": 1}
        run.display_name = "shown"
        run.flush()
        raise RuntimeError("on purpose")
        """)
    )
    run_script(
        project,
        """
        from azureml.core import Experiment, ScriptRunConfig, Workspace
        from azureml.exceptions import ActivityFailedException
        run = Experiment(Workspace.from_config(), "habits").submit(ScriptRunConfig("code", "train.py"))
        try:
            run.wait_for_completion(show_output=True)
            raise SystemExit("it should fail")
        except ActivityFailedException as error:
            assert "RuntimeError: on purpose" in error.message, error.message
        assert run.get_details()["error"]["error"]["debugInfo"]["type"] == "RuntimeError", run.get_details()
        assert "Traceback" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
        assert sorted(run.get_metrics()["worker"]) == [0, 1, 2, 3] and run.display_name == "shown"
        """,
    )
