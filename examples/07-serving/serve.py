"""Train a model, deploy it without code, call it, and convert it to ONNX.

footplate init
python serve.py scikit_learn     (or onnx, pytorch, tensorflow, xgboost, lightgbm)
"""

import json
import sys
from pathlib import Path

from azureml.core import Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

MODELS = {  # name in train.py: framework, the file or folder of the model, packages
    "scikit_learn": ("ScikitLearn", "outputs/model.pkl", ["scikit-learn", "pandas"]),
    "onnx": ("Onnx", "outputs/model.onnx", ["scikit-learn", "skl2onnx", "onnxruntime"]),
    "pytorch": ("PyTorch", "outputs/model.pt2", ["torch==2.13.0", "numpy"]),
    "tensorflow": ("TensorFlow", "outputs/model", ["tensorflow-cpu==2.21.0"]),
    "xgboost": ("XGBoost", "outputs/model.ubj", ["xgboost-cpu"]),
    "lightgbm": ("LightGBM", "outputs/model.lgb", ["lightgbm", "scikit-learn"]),
}


def train(workspace, name):
    """Run train.py in an environment with the framework."""
    environment = Environment(f"serving-{name}")
    environment.python.conda_dependencies = CondaDependencies.create(
        python_version="3.11", pip_packages=MODELS[name][2]
    )
    config = ScriptRunConfig(Path(__file__).parent, "train.py", [name], environment=environment)
    run = Experiment(workspace, "points").submit(config)
    run.wait_for_completion()
    return run


def main(name):
    workspace = Workspace.from_config()
    framework, path, _ = MODELS[name]
    run = train(workspace, name)
    model = run.register_model("points", path, model_framework=framework)

    service = Model.deploy(workspace, "points-service", [model], overwrite=True)  # in the environment that trained it
    service.wait_for_deployment()
    key = "instances" if framework == "TensorFlow" else "data"  # TensorFlow Serving's form
    answer = service.run(json.dumps({key: [[0, 0], [3, 3]]}))
    print(f"{framework} answers:", ", ".join(answer))
    service.delete()

    if framework != "Onnx":
        converted = model.to_onnx([[0.0, 0.0], [3.0, 3.0]])
        print(f"{converted.id} is {model.id} in ONNX:", converted.properties["converted_from"] == model.id)


if __name__ == "__main__":
    main(sys.argv[1])
