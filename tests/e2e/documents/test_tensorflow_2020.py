"""The Russian and the Italian article about TensorFlow of 2020, which are the same but for one import.

Given, because the document takes it for granted: script_folder, project_folder and source_dir with the scripts of
`scripts/tensorflow-2020`, `Environment` before the Russian article imports it, and a text for word2vec as `dataset`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import corpora
import pytest
from reading import Document, supply

from azureml.core import Dataset, Environment, Run, ScriptRunConfig, Workspace
from azureml.core.webservice import Webservice

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore::DeprecationWarning")]
RUSSIAN, ITALIAN = "000-tensorflow-2020-10", "003-tensorflow-2020-12"
SCRIPTS = "tensorflow-2020"


@pytest.fixture
def _services(project: Path, shared_environments: Path, web: list[str]) -> Iterator[None]:
    """Delete the services of the test at its end."""
    yield
    for service in Webservice.list(Workspace.from_config()):
        service.delete()


def prepare(document: Document, web: list[str]) -> None:
    """Run blocks 1 to 5: a dataset of files on the web, and a cluster."""
    document.run(1, 2, 3, 4, 5)
    names = [path.rpartition("/")[2] for path in document.names["dataset"].to_path()]
    assert names == sorted(corpora.mnist())
    assert {urlsplit(address).netloc for address in web} == {"yann.lecun.com"}
    document.given(Environment=Environment, script_folder=supply("tf-mnist", f"{SCRIPTS}/tf_mnist.py"))
    supply("tf-mnist", f"{SCRIPTS}/utils.py")


def define_curated(document: Document) -> None:
    """Run blocks 6 to 9, and train with each environment that they define."""
    document.run(6, 7)
    shutil.copy("AzureML-TensorFlow-2.2-GPU/conda_dependencies.yml", ".")
    document.run(8)
    train(document)
    document.run(6, 9)
    train(document)


def define_own(document: Document) -> None:
    """Run blocks 10 and 11: Python 3.6 and TensorFlow 2.2."""
    document.run(10, 11)
    assert document.names["tf_env"].docker.base_image.startswith("mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1")


def train(document: Document) -> None:
    """Run blocks 12 and 13: the model recognizes most digits that it has not seen."""
    document.run(12, 13)
    metrics = document.names["run"].get_metrics()
    assert metrics["tensorflow"] == "2.2.0"
    assert metrics["loss"][-1] < metrics["loss"][0] / 2
    assert metrics["validation_acc"][-1] > 0.9


def keep(document: Document) -> None:
    """Run blocks 14 and 15: the registered model, and a copy of it."""
    document.run(14, 15)
    run, model = document.names["run"], document.names["model"]
    assert (model.version, model.model_framework, model.run_id) == (1, "TensorFlow", run.id)
    assert [used.name for uses in model.datasets.values() for used in uses] == ["mnist-dataset"]
    assert Path("model/saved_model.pb").is_file() and Path("model/variables").is_dir()


def learn_words(document: Document) -> None:
    """Run blocks 16 and 17: two processes learn one model, in which words of one theme are neighbors."""
    document.run(16, 11)
    dataset = document.names["dataset"]
    document.given(dataset=Dataset.File.from_files("http://mattmahoney.net/dc/text8.zip"))
    document.given(project_folder=supply("horovod", f"{SCRIPTS}/tf_horovod_word2vec.py"))
    document.run(17)
    run = document.submit("horovod")
    document.given(dataset=dataset)
    metrics = run.get_metrics()
    assert (metrics["processes"], metrics["difference"]) == (2, 0.0)
    assert metrics["loss"][-1] < metrics["loss"][0]
    theme = {word: number for number, words in enumerate(corpora.THEMES) for word in words.split()}
    nearest = metrics["nearest"]
    assert len(nearest["word"]) == len(theme)
    assert all(theme[word] == theme[other] for word, other in zip(nearest["word"], nearest["neighbor"], strict=True))
    assert any("horovod 0.28.1 is built instead" in one["message"] for one in run.get_details()["warnings"])


def train_with_workers(document: Document) -> None:
    """Run blocks 18 and 19: two workers train one model by MultiWorkerMirroredStrategy."""
    document.given(source_dir=supply("workers", f"{SCRIPTS}/train.py"))
    document.run(18)
    run = document.submit("workers")
    metrics = run.get_metrics()
    assert sorted(metrics["worker"]["index"]) == [0, 1] and metrics["worker"]["replicas"] == [2, 2]
    assert len(set(metrics["worker"]["weights"])) == 1  # both have the same model
    assert len(metrics["loss"]) == 30 and metrics["accuracy"][-1] > 0.95
    assert "outputs/keras-model/saved_model.pb" in run.get_file_names()
    document.compare_tf_config(19, json.loads(metrics["tf_config"]))


def ask_the_model(document: Document, digits: list[list[float]]) -> list[list[float]]:
    """Return the answers of the downloaded model itself, in the environment that it was trained in."""
    names = document.names
    shutil.copytree("model", "ask/model")
    Path("ask/digits.json").write_text(json.dumps(digits))
    source = ScriptRunConfig(
        supply("ask", f"{SCRIPTS}/ask.py"),
        "ask.py",
        compute_target=names["compute_target"],
        environment=names["tf_env"],
    )
    run: Run = names["Experiment"](names["ws"], "ask").submit(source)
    run.wait_for_completion()
    answers = run.get_metrics()["answer"]
    return [answers[start : start + 10] for start in range(0, len(answers), 10)]


def serve(document: Document) -> None:
    """Run block 20: the service recognizes digits, and answers what the model itself answers."""
    images, labels = corpora.digits(corpora.TEST, 2)
    digits = (images[:20].reshape(20, 784) / 255.0).tolist()
    document.run(20)
    service = document.names["service"]
    service.wait_for_deployment(show_output=True)
    served = service.run(json.dumps({"instances": digits}))["predictions"]
    for answer, own in zip(served, ask_the_model(document, digits), strict=True):
        assert answer == pytest.approx(own, abs=1e-4)
    recognized = [max(range(10), key=answer.__getitem__) for answer in served]
    assert sum(digit == label for digit, label in zip(recognized, labels[:20].tolist(), strict=True)) >= 18


@pytest.mark.documents
@pytest.mark.parametrize("name", [RUSSIAN, ITALIAN])
def test_article_of_2020_as_a_reader_runs_it(
    name: str, _services: None, web: list[str], subtests: pytest.Subtests
) -> None:
    document = Document(name, subtests)
    prepare(document, web)
    define_curated(document)
    define_own(document)
    train(document)
    keep(document)
    own = document.names["tf_env"]
    learn_words(document)
    document.given(tf_env=own)
    train_with_workers(document)
    serve(document)
    document.assert_complete()


def test_own_environment_trains_and_serves_digits(_services: None, web: list[str], subtests: pytest.Subtests) -> None:
    document = Document(ITALIAN, subtests)
    prepare(document, web)
    define_own(document)
    train(document)
    keep(document)
    train_with_workers(document)
    serve(document)


def test_own_environment_learns_words_with_horovod(_services: None, web: list[str], subtests: pytest.Subtests) -> None:
    document = Document(ITALIAN, subtests)
    prepare(document, web)
    learn_words(document)
