"""Environments from files to running interpreters, and in the registry, on the real server."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from footplate import CondaDependencies, Environment, Experiment, Run, ScriptRunConfig, UserErrorException, Workspace
from footplate.sdk.environments.definition import definition
from footplate.sdk.environments.sections import DockerBuildContext

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
SHOW = """\
import os, sys
import six
from azureml.core import Run
run = Run.get_context()
run.log("six", six.__version__)
run.log("python", "%d.%d" % sys.version_info[:2])
run.log("own", sys.prefix != os.environ["TESTS_PREFIX"])
run.log("variable", os.environ.get("FROM_ENVIRONMENT", ""))
"""


def finished(workspace: Workspace, project: Path, environment: Environment, code: str = SHOW) -> Run:
    source = project / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(code)
    config = ScriptRunConfig(str(source), "train.py", environment=environment)
    config.run_config.environment_variables = {"TESTS_PREFIX": sys.prefix}
    run = Experiment(workspace, "environments").submit(config)
    run.wait_for_completion()
    return run


def test_pip_requirements_and_conda_files_are_built(project: Path, workspace: Workspace) -> None:
    (project / "base.txt").write_text("six==1.16.0  # an old one\n")
    (project / "requirements.txt").write_text("-r base.txt\nazureml-defaults\n")
    (project / "env.yml").write_text(
        f"name: mine\nchannels: [conda-forge]\ndependencies:\n  - python={OWN}\n  - pip\n  - pip:\n    - six==1.16.0\n"
    )
    from_pip = Environment.from_pip_requirements("from-pip", str(project / "requirements.txt"))
    from_pip.environment_variables = {"FROM_ENVIRONMENT": "yes"}
    from_pip.python.conda_dependencies.set_python_version(OWN)  # the default is Azure's
    from_conda = Environment.from_conda_specification("from-conda", str(project / "env.yml"))
    with_packages = Environment("with-packages")
    with_packages.python.conda_dependencies = CondaDependencies.create(
        conda_packages=["six=1.16.0"], pip_packages=["azureml-defaults"], python_version=OWN
    )
    for environment, variable in ((from_pip, "yes"), (from_conda, ""), (with_packages, "")):
        metrics = finished(workspace, project, environment).get_metrics()
        assert metrics == {"six": "1.16.0", "python": OWN, "own": True, "variable": variable}
    again = finished(workspace, project, from_pip).get_environment()
    assert definition(again) == definition(from_pip)


def test_private_wheel_is_installed(project: Path, workspace: Workspace) -> None:
    wheel = make_wheel(project, "mine", "1.0", "value = 41\n")
    address = Environment.add_private_pip_wheel(workspace, str(wheel))
    with pytest.raises(UserErrorException, match="has a wheel"):
        Environment.add_private_pip_wheel(workspace, str(wheel))
    assert Environment.add_private_pip_wheel(workspace, str(wheel), exist_ok=True) == address
    changed = make_wheel(project, "mine", "1.0", "value = 42\n")
    newer = Environment.add_private_pip_wheel(workspace, str(changed), exist_ok=True)
    assert newer != address and newer.startswith("file:///") and newer.endswith("/mine-1.0-py3-none-any.whl")
    wheel.unlink()
    environment = Environment("with-wheel")
    environment.python.conda_dependencies = CondaDependencies.create(pip_packages=[newer], python_version=OWN)
    code = "import mine\nfrom azureml.core import Run\nRun.get_context().log('value', mine.value)\n"
    assert finished(workspace, project, environment, code).get_metrics() == {"value": 42}
    with pytest.raises(UserErrorException, match="not the name of a wheel"):
        Environment.add_private_pip_wheel(workspace, str(project / "requirements.txt"))


def make_wheel(folder: Path, name: str, version: str, code: str) -> Path:
    """Write a wheel: a zip with three additional files and their digests."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {k: base64.urlsafe_b64encode(hashlib.sha256(v.encode()).digest()).rstrip(b"=") for k, v in files.items()}
    record = "".join(f"{path},sha256={digests[path].decode()},{len(files[path])}\n" for path in files)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(inner, text)
    return path


def test_environment_is_built_before_the_first_run(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    made = Environment("mine")
    made.python.conda_dependencies = CondaDependencies.create(pip_packages=["six==1.16.0"], python_version=OWN)
    building = made.build(workspace)
    assert building.status in ("Running", "Succeeded")
    assert building.wait_for_completion(show_output=True) is building
    assert building.status == "Succeeded"
    assert building.get_log() == capsys.readouterr().out and "six" in building.get_log()
    assert made.build_local(workspace).status == "Succeeded"


def test_image_details_describe_the_build(workspace: Workspace) -> None:
    made = Environment("mine")
    made.python.conda_dependencies = CondaDependencies.create(pip_packages=["six==1.16.0"], python_version=OWN)
    before = made.get_image_details(workspace)
    assert (before.image_exist, before.environment_path, before.image) == (False, None, None)
    made.build(workspace).wait_for_completion(show_output=False)
    details = made.get_image_details(workspace)
    assert details.image_exist and details.environment_path and Path(str(details.interpreter_path)).exists()
    assert details["ingredients"]["dockerfile"] == details.dockerfile == f"FROM {made.docker.base_image}\n"
    assert (details.registry, details.repository) == (None, None)
    user_managed = Environment("as-it-is")
    user_managed.python.user_managed_dependencies = True
    assert user_managed.get_image_details(workspace).interpreter_path == sys.executable


def test_resolver_errors_are_reported_verbatim(workspace: Workspace) -> None:
    made = Environment("mine")
    made.python.conda_dependencies = CondaDependencies.create(pip_packages=["six==999"], python_version=OWN)
    with pytest.raises(UserErrorException, match="six==999"):
        made.build(workspace)


def test_failed_build_gives_its_reason(workspace: Workspace) -> None:
    made = Environment("mine")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = "/nowhere/bin/python"
    building = made.build(workspace)
    with pytest.raises(UserErrorException, match=r"'mine' could not be built: .*/nowhere/bin/python"):
        building.wait_for_completion(show_output=False)
    assert building.status == "Failed"


def test_registry_keeps_versions_by_content(workspace: Workspace) -> None:
    made = Environment("mine")
    made.docker.base_dockerfile = "FROM a\n"
    made.environment_variables = {"A": "b"}
    first = made.register(workspace)
    assert (first.name, first.version, made.version) == ("mine", "1", None) and first.asset_id
    assert first.register(workspace).version == "1"  # the same content
    made.python.conda_dependencies.add_pip_package("six")
    assert made.register(workspace).version == "2"
    Environment("other").register(workspace)
    ours = {name: e.version for name, e in Environment.list(workspace).items() if e.curated is None}
    assert ours == {"mine": "2", "other": "1"}
    assert {"mine", "other", "AzureML-Minimal"} < set(workspace.environments)
    got = Environment.get(workspace, "mine", version="1")
    assert got.environment_variables == {"A": "b"} and got.docker.base_dockerfile == "FROM a\n"
    assert Environment.get(workspace, "mine").version == "2"


def test_labels_select_versions(workspace: Workspace) -> None:
    made = Environment("mine")
    made.register(workspace)
    made.python.conda_dependencies.add_pip_package("six")
    made.register(workspace)
    Environment.label(workspace, "mine", "1", ["tested", "old"])
    assert Environment.get(workspace, "mine", label="tested").version == "1"
    Environment.label(workspace, "mine", "2", ["tested"])
    assert Environment.get(workspace, "mine", label="tested").version == "2"
    assert Environment.get(workspace, "mine", label="old").version == "1"
    assert Environment.get(workspace, "mine", label="Latest").version == "2"
    with pytest.raises(UserErrorException, match="'new'"):
        Environment.get(workspace, "mine", label="new")
    with pytest.raises(UserErrorException, match="'3'"):
        Environment.label(workspace, "mine", "3", ["tested"])
    with pytest.raises(UserErrorException, match="'latest' cannot be a label"):
        Environment.label(workspace, "mine", "1", ["latest"])
    with pytest.raises(UserErrorException, match="give a list"):
        Environment.label(workspace, "mine", "1", "tested")  # type: ignore[arg-type]
    with pytest.raises(UserErrorException, match="both version and label"):
        Environment.get(workspace, "mine", version="1", label="tested")


@pytest.mark.parametrize("name", ["AzureML-Mine", "azureml-mine", "Microsoft-mine"])
def test_reserved_names_are_rejected_with_clone_as_the_hint(workspace: Workspace, name: str) -> None:
    made = Environment(name)
    with pytest.raises(UserErrorException, match="reserved prefix") as caught:
        made.register(workspace)
    assert "clone" in str(caught.value)
    assert made.clone("mine").register(workspace).version == "1"


def test_names_that_cannot_be_queried_are_rejected(workspace: Workspace) -> None:
    for name in ("", "a/b"):
        with pytest.raises(UserErrorException, match="cannot be an environment's name"):
            Environment(name).register(workspace)


def test_build_context_is_stored(project: Path, workspace: Workspace) -> None:
    folder = project / "image"
    folder.mkdir()
    with pytest.raises(UserErrorException, match="no 'Dockerfile'"):
        DockerBuildContext.from_local_directory(workspace, str(folder))
    (folder / "Dockerfile").write_text("FROM a\n")
    context = DockerBuildContext.from_local_directory(workspace, str(folder))
    made = Environment.from_docker_build_context("mine", context).register(workspace)
    assert made.docker.build_context is not None and made.docker.build_context.location == context.location
    assert workspace.session.api.blobs.missing([context.location]) == ()


# ── Curated ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_curated_environments_are_found_by_name_and_run(project: Path, workspace: Workspace) -> None:
    got = Environment.get(workspace, "azureml-minimal")
    assert (got.name, got.version, got.curated) == ("AzureML-Minimal", "1", "AzureML-Minimal")
    listed = Environment.list(workspace)["AzureML-PyTorch-1.6-GPU"]
    assert listed.python.conda_dependencies.get_python_version() == "3.8"
    assert Environment.get(workspace, "Footplate-Minimal", version="31").version == "1"
    run = finished(workspace, project, got, "from azureml.core import Run; Run.get_context().log('ok', 1)\n")
    assert run.get_metrics() == {"ok": 1}
    assert "Python 3.8 instead of 3.6.2" in str(run.get_details()["warnings"][0])
    with pytest.raises(UserErrorException, match="no curated environment 'AzureML-Unheard-Of'"):
        Environment.get(workspace, "AzureML-Unheard-Of")


def test_every_name_in_azure_examples_is_known(workspace: Workspace) -> None:
    names = [
        "AzureML-Minimal", "AzureML-Tutorial", "AzureML-sklearn-1.5", "azureml-sklearn-1.5",
        "AzureML-tensorflow-2.16-cuda12", "azureml-tensorflow-2.11-cuda11", "azureml-acpt-pytorch-2.2-cuda12.1",
        "azureml-acpt-pytorch-1.11-cuda11.3", *(f"AzureML-TensorFlow-{v}-GPU" for v in ("1.13", "2.0", "2.1", "2.3")),
        "AzureML-PyTorch-1.4-GPU", "AzureML-PyTorch-1.6-GPU", "AzureML-PyTorch-1.6-CPU", "AzureML-Chainer-5.1.0-GPU",
        "AzureML-Scikit-learn0.24-Cuda11-OpenMpi4.1.0-py36", "AzureML-PySpark-MmlSpark-0.15",
    ]  # fmt: skip
    for name in names:
        got = Environment.get(workspace, name)
        assert got.name.lower() == name.lower() and got.python.conda_dependencies.get_python_version(), name
        assert got.clone("mine").curated == got.curated


def test_clone_knows_its_origin(project: Path, workspace: Workspace) -> None:
    mine = Environment.get(workspace, "AzureML-Minimal").clone("mine")
    mine.python.conda_dependencies.add_pip_package("six==1.16.0")
    registered = mine.register(workspace)
    assert (registered.version, registered.curated) == ("1", "AzureML-Minimal")
    mine.save_to_directory(str(project / "saved"))
    assert Environment.load_from_directory(str(project / "saved")).curated == "AzureML-Minimal"
    with pytest.raises(UserErrorException, match="reserved prefix"):
        Environment.get(workspace, "Footplate-Minimal").register(workspace)
