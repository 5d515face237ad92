from __future__ import annotations

from pathlib import Path

import pytest

from footplate.environments import requirements
from footplate.environments.requirements import clean, name_of, names_local_files, without_azureml
from footplate.errors import InvalidInput


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("numpy", "numpy"),
        ("Scikit_Learn>=1,<2", "scikit-learn"),
        ("ruamel.yaml ; python_version < '3.9'", "ruamel-yaml"),
        ("dask[complete,array]==1", "dask"),
        ("thing @ https://host/a/thing-1.0.tar.gz", "thing"),
        ("git+https://host/repo.git@main#egg=thing&subdirectory=x", "thing"),
        ("-e git+https://host/repo.git#egg=thing", "thing"),
        ("--editable=./thing", None),
        ("https://host/some_thing-1.0-py3-none-any.whl", "some-thing"),
        ("./dist/some_thing-1.0-1-cp311-cp311-linux_x86_64.whl", "some-thing"),
        ("some_thing-1.0-py3-none-any.whl", "some-thing"),
        ("https://host/some-thing-1.0.tar.gz#sha256=abc", "some-thing"),
        ("--extra-index-url https://host/azureml", None),
        ("./folder", None),
    ],
)
def test_names_of_requirement_lines(line: str, name: str | None) -> None:
    assert name_of(line) == name


def test_azureml_is_left_out_however_it_is_written() -> None:
    ours = [
        "azureml",
        "azureml-defaults~=1.6",
        "AzureML_Core",
        "azureml.widgets",
        "azureml-sdk[automl,explain,notebooks]>=1.1.2",
        "azureml-core; python_version < '3.9'",
        "azureml-core @ https://host/azureml_core-1.0-py3-none-any.whl",
        "https://host/azureml_core-1.0.1-py3-none-any.whl",
        "./wheels/azureml_contrib_run-0.1-py3-none-any.whl",
        "git+https://host/sdk.git#egg=azureml-core",
    ]
    others = ["azure-core", "azuremlutils", "my-azureml", "azure-ai-ml", "--index-url https://host/azureml-core/"]
    said = list[str]()
    assert without_azureml([*ours, *others], said.append) == others
    assert said == [f"{line}: not installed, Footplate provides the azureml names itself" for line in ours]


@pytest.mark.parametrize(
    ("line", "brought"),
    [
        ("azureml-dataprep[pandas]", "pandas"),
        ("azureml-dataset-runtime[fuse,pandas]~=1.4", "pandas"),
        ("azureml-dataprep[pandas]>=2 ; python_version < '3.12'", "pandas; python_version < '3.12'"),
    ],
)
def test_pandas_extras_of_azureml_packages_install_pandas(line: str, brought: str) -> None:
    assert without_azureml([line], print) == [brought]


def test_comments_are_removed_and_continued_lines_joined() -> None:
    text = "# head\n\nnumpy==1.0 \\\n  --hash=sha256:ab # why\ngit+https://x/y#egg=z\n"
    assert clean([text, "  pandas  "]) == ["numpy==1.0    --hash=sha256:ab", "git+https://x/y#egg=z", "pandas"]


@pytest.mark.parametrize(
    "line", ["./x", "../x.whl", "/a/b", "x.whl", "x @ file:///a", "x @ ./a", "-e .", "-r more.txt", "-c c.txt", "~/x"]
)
def test_lines_that_name_local_files(line: str) -> None:
    assert names_local_files(["numpy", line])


@pytest.mark.parametrize(
    "line", ["numpy", "x @ https://host/x.whl", "https://host/x.whl", "--find-links /wheels", "git+https://host/x"]
)
def test_lines_that_name_no_local_files(line: str) -> None:
    assert not names_local_files([line])


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("-e /folder/package", "/folder/package"),
        ("--editable=/folder/package", "/folder/package"),
        ("-e git+https://example.com/x.git#egg=x", "git+https://example.com/x.git#egg=x"),
    ],
)
def test_editable_installs_become_plain_ones(line: str, plain: str) -> None:
    assert requirements.clean([line]) == [plain]
    assert not requirements.is_option(line)


@pytest.mark.parametrize(
    "line", ["--no-deps", "-U", "--use-feature=x", "--prefer-binary", "-r more.txt", "--config-settings a=b"]
)
def test_options_that_would_be_ignored_are_refused(line: str) -> None:
    with pytest.raises(InvalidInput, match="is not supported here"):
        requirements.clean([line])


@pytest.mark.parametrize("line", ["./x", "-e ./x", ".", "~/x", "a/b", "x-1.0-py3-none-any.whl", "x @ ./y", "file:x"])
def test_relative_paths_are_refused(line: str) -> None:
    with pytest.raises(InvalidInput, match="relative path"):
        requirements.clean([line])


def test_options_that_uv_ignores_in_files_become_its_arguments() -> None:
    lines = ["--pre", "--trusted-host example.com", "-i https://example.com/simple", "numpy"]
    assert requirements.uv_arguments(lines) == ["--prerelease", "allow", "--allow-insecure-host", "example.com"]


def test_content_of_local_packages_identifies_them(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "code.py").write_text("1")
    lines = [f"{tmp_path}/package[extra]", "numpy", "x @ https://example.com/x.zip"]
    before = requirements.local_content(lines)
    assert list(before) == [f"{tmp_path}/package"]
    (tmp_path / "package" / "__pycache__").mkdir()
    (tmp_path / "package" / "__pycache__" / "code.pyc").write_text("1")
    assert requirements.local_content(lines) == before
    (tmp_path / "package" / "code.py").write_text("2")
    assert requirements.local_content(lines) != before


@pytest.mark.parametrize(
    "line", ["azure-eventhub==5.11", "--extra-index-url https://host/simple", "a @ https://h/a-e/a"]
)
def test_an_e_inside_a_line_is_not_the_option_for_editable_installs(line: str) -> None:
    assert clean([line]) == [line]
    assert clean(["-e git+https://host/a-e/b"]) == ["git+https://host/a-e/b"]


def test_a_local_file_below_a_folder_with_a_dash_has_a_digest(tmp_path: Path) -> None:
    wheel = tmp_path / "my-code" / "x.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"x")
    for line in (str(wheel), f"x @ {wheel}", f"-c {wheel}"):
        assert list(requirements.local_content([line])) == [str(wheel)]
