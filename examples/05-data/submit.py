"""Give a run data, and keep its output as a dataset.

footplate init
python submit.py
"""

from azureml.core import Dataset, Experiment, ScriptRunConfig, Workspace
from azureml.data import OutputFileDatasetConfig

workspace = Workspace.from_config()
store = workspace.get_default_datastore()

dataset = Dataset.File.upload_directory("poems", (store, "poems"), overwrite=True, show_progress=False)
dataset = dataset.register(workspace, "poems", create_new_version=True)
print(f"poems, version {dataset.version}:", dataset.to_path())

counts = OutputFileDatasetConfig("counts").register_on_complete("word-counts")
config = ScriptRunConfig(
    ".", "count.py", arguments=["--poems", dataset.as_named_input("poems").as_mount(), "--counts", counts]
)
run = Experiment(workspace, "counting").submit(config)
run.wait_for_completion()

made = Dataset.get_by_name(workspace, "word-counts")
with made.mount() as mounted, open(mounted.mount_point + "/sea-fever.txt") as file:
    print("words:", file.read())
print("unchanged since:", bool(dataset.verify()))
