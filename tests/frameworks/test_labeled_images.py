"""Tables of labeled images as datasets for PyTorch."""

from __future__ import annotations

from pathlib import Path

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

JOB = """
from PIL import Image
from azureml.core import Run
from torch.utils.data import DataLoader

Image.new("RGB", (4, 2), (255, 0, 0)).save("red.png")
run = Run.get_context()
images = run.input_datasets["labels"].to_torchvision()
image, label = images[1]
(batch, labels), = DataLoader(images, batch_size=2)
run.log_row("first", label=label, shape=str(tuple(image.shape)), red=image[0].mean().item())
run.log_list("batch", [*batch.shape, *labels])
"""


def test_a_table_of_images_is_a_torch_dataset(workspace: Workspace, shared_environments: Path) -> None:
    Path("labels").mkdir()
    Path("labels/labels.csv").write_text("image_url,label\nred.png,cat\nred.png,dog\n")
    Path("job").mkdir()
    Path("job/train.py").write_text(JOB)
    store = workspace.get_default_datastore()
    store.upload("labels", "labels")
    table = Dataset.Tabular.from_delimited_files((store, "labels/labels.csv"))
    environment = Environment("images")
    packages = ["torch==2.13.0", "numpy", "pandas", "pyarrow", "pillow"]
    environment.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=packages)
    config = ScriptRunConfig("job", "train.py", ["--data", table.as_named_input("labels")], environment=environment)
    run = Experiment(workspace, "images").submit(config)
    run.wait_for_completion(show_output=True)
    metrics = run.get_metrics()
    assert metrics["first"] == {"label": "dog", "shape": "(3, 2, 4)", "red": 1.0}
    assert metrics["batch"] == [2, 3, 2, 4, "cat", "dog"]
