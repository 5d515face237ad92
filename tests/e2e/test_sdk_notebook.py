"""A training tutorial written like Azure's own: only `azureml` names, cell by cell, up to the model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.shared_home

TRAINING = """
import argparse
import os
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument('--batch-size', type=int, dest='batch_size')
parser.add_argument('--learning-rate', type=float, dest='learning_rate')
args = parser.parse_args()

run = Run.get_context()
for epoch in range(4):
    run.log('training_acc', float(epoch) / 4)
run.log('final_acc', 0.75)
os.makedirs('./outputs/model', exist_ok=True)
with open('./outputs/model/saved_model.pb', 'w') as file:
    file.write('%d %g' % (args.batch_size, args.learning_rate))
"""

NOTEBOOK = """
import os
import shutil
import azureml.core
from azureml.core import Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.telemetry import set_diagnostics_collection
from azureml.widgets import RunDetails

print("SDK version:", azureml.core.VERSION)
set_diagnostics_collection(send_diagnostics=True)
ws = Workspace.from_config()
print(ws.name, ws.resource_group, ws.location, ws.subscription_id, sep='\\n')

cluster_name = "gpu-cluster"
for attempt in range(2):
    try:
        compute_target = ComputeTarget(workspace=ws, name=cluster_name)
        print('Found existing compute target')
    except ComputeTargetException:
        print('Creating a new compute target...')
        compute_config = AmlCompute.provisioning_configuration(vm_size='STANDARD_NC6', max_nodes=4)
        compute_target = ComputeTarget.create(ws, cluster_name, compute_config)
        compute_target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
print(compute_target.get_status().serialize())

script_folder = './tf-mnist'
os.makedirs(script_folder, exist_ok=True)
shutil.copy('tf_mnist.py', script_folder)
env = Environment('my-own')
env.python.user_managed_dependencies = True
env.docker.enabled = True

args = ['--batch-size', 64, '--learning-rate', 0.01]
src = ScriptRunConfig(source_directory=script_folder, script='tf_mnist.py', arguments=args,
                      compute_target=compute_target, environment=env)
run = Experiment(workspace=ws, name='tf-mnist').submit(src)
RunDetails(run).show()
run.wait_for_completion(show_output=True)
assert run.get_metrics()['final_acc'] == 0.75
assert run.get_metrics()['training_acc'] == [0.0, 0.25, 0.5, 0.75]

model = run.register_model(model_name='tf-mnist', model_path='outputs/model',
                           model_framework=Model.Framework.TENSORFLOW, model_framework_version='2.0',
                           resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5))
print(model.name, model.id, model.version, sep='\\t')
assert Model(ws, 'tf-mnist').resource_configuration.memory_in_gb == 0.5

os.makedirs('./model', exist_ok=True)
run.download_files(prefix='outputs/model', output_directory='./model', append_prefix=False)
assert open('model/saved_model.pb').read() == '64 0.01'
for f in run.get_file_names():
    if f.startswith('outputs/model'):
        run.download_file(name=f, output_file_path=os.path.join('./one-by-one', f.split('/')[-1]))
assert os.listdir('one-by-one') == ['saved_model.pb']

for distributed in (MpiConfiguration(node_count=2), PyTorchConfiguration(communication_backend='Nccl', node_count=2),
                    TensorflowConfiguration(worker_count=2, parameter_server_count=0)):
    made = ScriptRunConfig(source_directory=script_folder, script='tf_mnist.py', compute_target=compute_target,
                           environment=env, distributed_job_config=distributed)
    assert made.run_config.node_count == 2
for shown, cell in ((ws, 'docs-ws'), (run, run.id), (run.experiment, 'tf-mnist'), (model, 'TensorFlow 2.0'),
                    (compute_target, '0 of at most 4'), (env, 'my-own')):
    assert f'<td>{cell}</td>' in shown._repr_html_(), shown._repr_html_()
print('THE END')
"""


def test_tutorial_runs_as_written_for_azure(project: Path):
    (project / "tf_mnist.py").write_text(TRAINING)
    config = {"subscription_id": "0000-1111", "resource_group": "docs-aml", "workspace_name": "docs-ws"}
    (project / ".azureml" / "config.json").write_text(json.dumps(config))
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "THE END" and lines[1] == "docs-ws"
    assert "Creating a new compute target..." in lines and "Found existing compute target" in lines
    assert (
        "Streaming user_logs/std_log.txt" in lines
        and "Execution Summary" in lines
        and "tf-mnist\ttf-mnist:1\t1" in lines
    )
