"""Outputs of runs: sent during the run, one dataset from several nodes, and tables."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.runconfig import PyTorchConfiguration
from azureml.data import OutputFileDatasetConfig
from azureml.exceptions import UserErrorException
from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home


@pytest.fixture
def bucket(workspace: Workspace, s3: StoreSpec) -> Any:
    return Datastore.register_s3_bucket(workspace, "s3", **s3.location, **s3.credentials)  # type: ignore[arg-type]


def submit(workspace: Workspace, text: str, arguments: list[Any], **more: Any) -> Run:
    Path("src").mkdir(exist_ok=True)
    Path("src/script.py").write_text(text)
    here = Environment("here")
    here.python.user_managed_dependencies = True
    here.python.interpreter_path = sys.executable
    config = ScriptRunConfig("src", "script.py", arguments, environment=here, **more)
    return Experiment(workspace, "outputs").submit(config)


def names_in(spec: StoreSpec, folder: str) -> list[str]:
    return sorted(entry.path[len(folder) + 1 :] for page in open_store(spec).list(folder) for entry in page)


def test_files_are_sent_during_the_run_and_survive_a_killed_agent(
    workspace: Workspace, bucket: Any, s3: StoreSpec, home: Path, tmp_path: Path
) -> None:
    script = f"""
import os, sys, time
made = sys.argv[1]
with open(os.path.join(made, "done.txt"), "w") as out:
    out.write("done")
growing = open(os.path.join(made, "growing.txt"), "w")
growing.write("half")
growing.flush()
os.utime(os.path.join(made, "growing.txt"), (0, 0))  # as if nobody had written to it for long
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.05)
growing.write(" and half")
growing.close()
open(os.path.join(made, "late.txt"), "w").write("late")
"""
    made = OutputFileDatasetConfig("made", (bucket, "out/{run-id}")).register_on_complete("made")
    run = submit(workspace, script, [made])
    folder = f"out/{run.id}"
    wait_until(lambda: names_in(s3, folder) == ["done.txt"])
    notes = home / "work" / run.id / "node_0" / "data" / ".sent-made"
    wait_until(lambda: notes.exists() and "done.txt" in notes.read_text())
    assert run.get_status() == "Running"
    (lock,) = (home / "work" / run.id).glob("*/agent.lock")
    before = open_store(s3).stat(f"{folder}/done.txt").modified
    dead = json.loads(lock.read_text())["pid"]
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: json.loads(lock.read_text() or "{}").get("pid") not in (None, dead))
    assert names_in(s3, folder) == ["done.txt"], "a file that is open for writing was sent"
    (tmp_path / "go").touch()
    run.wait_for_completion()
    assert names_in(s3, folder) == ["done.txt", "growing.txt", "late.txt"]
    assert open_store(s3).read(f"{folder}/growing.txt") == b"half and half"
    assert open_store(s3).stat(f"{folder}/done.txt").modified == before, "a sent file was sent again"
    assert Dataset.get_by_name(workspace, "made").to_path() == ["/done.txt", "/growing.txt", "/late.txt"]


def test_in_upload_mode_nothing_is_sent_before_the_end(
    workspace: Workspace, bucket: Any, s3: StoreSpec, tmp_path: Path
) -> None:
    script = """
import os, sys
for name in ("a.csv", "b.txt"):
    open(os.path.join(sys.argv[1], name), "w").write(name)
sys.exit(int(sys.argv[2]))
"""
    sent = OutputFileDatasetConfig("sent", (bucket, "sent/{run-id}")).as_upload(source_globs="*.csv")
    well, badly = submit(workspace, script, [sent, "0"]), submit(workspace, script, [sent, "1"])
    well.wait_for_completion()
    badly.wait_for_completion(raise_on_error=False)
    assert names_in(s3, f"sent/{well.id}") == ["a.csv"]
    assert names_in(s3, f"sent/{badly.id}") == []


NODES = """
import os, sys
data, made, shared = sys.argv[1:]
node = os.environ["NODE_RANK"]
assert open(os.path.join(data, "a.txt")).read() == "a"
assert open("here/a.txt").read() == "a", "path_on_compute is in the folder that the nodes share"
for folder in (made, shared):
    os.makedirs(os.path.join(folder, "by"), exist_ok=True)
    with open(os.path.join(folder, "by", node), "w") as out:
        out.write(node)
"""


def test_two_nodes_read_the_same_and_write_one_dataset(workspace: Workspace, bucket: Any, s3: StoreSpec) -> None:
    Path("data").mkdir()
    Path("data/a.txt").write_text("a")
    bucket.upload("data", "in", show_progress=False)
    given = Dataset.File.from_files((bucket, "in")).register(workspace, "given")
    local = workspace.get_default_datastore()
    made = OutputFileDatasetConfig("made", (bucket, "both/{run-id}")).register_on_complete("both")
    here = OutputFileDatasetConfig("here_too", (local, "both/{run-id}"), source="./out").register_on_complete("here")
    run = submit(
        workspace, NODES,
        [given.as_named_input("data").as_mount("here"), made, here],
        distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
    )  # fmt: skip
    run.wait_for_completion()
    for name in ("both", "here"):
        dataset = Dataset.get_by_name(workspace, name)
        assert dataset.version == 1 and dataset.to_path() == ["/by/0", "/by/1"]
        assert dataset.verify(), "it pins the files of both nodes"
    assert names_in(s3, f"both/{run.id}") == ["by/0", "by/1"]
    lineage = workspace.session.api.datasets.of_run(run.id)
    told = sorted((use.role, use.name, use.dataset_name) for use in lineage)
    assert told == [("read", "data", "given"), ("wrote", "here_too", "here"), ("wrote", "made", "both")]


TABLES = """
import os, sys
csv, parquet = sys.argv[1:]
import pyarrow as pa, pyarrow.parquet as pq
for number in (1, 2):
    with open(os.path.join(csv, f"part{number}.csv"), "w") as out:
        out.write("id,name,price\\n" + "".join(f"{i},n{i},{i / 2}\\n" for i in range(number * 10, number * 10 + 3)))
open(os.path.join(csv, "README.md"), "w").write("no table")
pq.write_table(pa.table({"x": [1, 2, 3], "y": ["a", "b", "c"]}), os.path.join(parquet, "t.parquet"))
"""
SUM = """
from azureml.core import Run
run = Run.get_context()
frame = run.input_datasets["prices"].to_pandas_dataframe()
run.log("rows", len(frame))
run.log("sum", float(frame["price"].sum()))
"""


def test_an_output_becomes_a_table(workspace: Workspace, bucket: Any) -> None:
    files = OutputFileDatasetConfig("csv", (bucket, "tables/{run-id}"))
    prices = files.read_delimited_files(path_glob="*.csv").drop_columns("name")
    prices = prices.register_on_complete("prices", "the cost", {"unit": "euro"})
    parquet = OutputFileDatasetConfig("pq").as_upload().read_parquet_files().register_on_complete("letters")
    run = submit(workspace, TABLES, [prices, parquet])
    run.wait_for_completion()

    table = Dataset.get_by_name(workspace, "prices")
    assert type(table).__name__ == "TabularDataset" and table.description == "the cost"
    assert table.tags == {"unit": "euro"} and table.version == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file that is not a table would cause one
        frame = table.to_pandas_dataframe()
    assert list(frame.columns) == ["id", "price"] and sorted(frame["id"]) == [10, 11, 12, 20, 21, 22]
    assert Dataset.get_by_name(workspace, "letters").to_pandas_dataframe()["y"].tolist() == ["a", "b", "c"]

    after = submit(workspace, SUM, ["--", prices.as_input("prices")])
    after.wait_for_completion()
    assert after.get_metrics() == {"rows": 6, "sum": 48.0}
    with pytest.raises(UserErrorException, match="tabular"):
        prices.as_input("prices").as_mount()


WRITE = """
import os, sys
if sys.argv[2] == "write":
    open(os.path.join(sys.argv[1], "a.txt"), "w").write("a")
"""
READ = """
import os, sys
print(sorted(os.listdir(sys.argv[1])))
"""


def test_readers_of_an_output_are_traced_to_its_run(workspace: Workspace) -> None:
    made = OutputFileDatasetConfig("made").register_on_complete("letters")
    submit(workspace, WRITE, [made, "write"]).wait_for_completion()
    letters = Dataset.get_by_name(workspace, "letters")
    reader = submit(workspace, READ, [made.as_input("given")])
    reader.wait_for_completion()
    (use,) = workspace.session.api.datasets.of_run(reader.id)
    assert (use.dataset, use.dataset_name, use.version) == (letters.id, "letters", 1)

    table = submit(workspace, "", ["--", made.read_delimited_files().as_input("given")])
    table.wait_for_completion()
    (use,) = workspace.session.api.datasets.of_run(table.id)
    assert use.dataset_name is None, "its rows are a dataset other than the files"


def test_an_output_without_files_is_reported(workspace: Workspace) -> None:
    made = OutputFileDatasetConfig("made").register_on_complete("letters")
    run = submit(workspace, WRITE, [made, "nothing"])
    run.wait_for_completion()
    (warning,) = run.get_details()["warnings"]
    assert warning["message"] == "output 'made': nothing was written, so there is no new version of 'letters'"
    with pytest.raises(UserErrorException, match="there is no dataset 'letters'"):
        Dataset.get_by_name(workspace, "letters")
