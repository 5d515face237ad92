"""Submit hello.py, watch it, and list its files.

python submit.py          the same without Python: footplate run --wait hello.py --who world
"""

from pathlib import Path

from azureml.core import Experiment, ScriptRunConfig, Workspace

workspace = Workspace.from_config()  # no file yet? create one with: footplate init
experiment = Experiment(workspace, "hello")

config = ScriptRunConfig(Path(__file__).parent, script="hello.py", arguments=["--who", "world"])
run = experiment.submit(config)  # returns at once; the run continues even if this process dies
run.wait_for_completion(show_output=True)

print("files of the run:", [name for name in run.get_file_names() if name.startswith("outputs/")])
