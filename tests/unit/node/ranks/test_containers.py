"""The command that starts a container around a rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.environments.base import Container
from footplate.node.node_directory import NodeFolder
from footplate.node.ranks.containers import enclose, gpu_options, hidden_gpus

BOX = Container("podman", "/usr/bin/podman", "sha256:abc", "/opt/python", "4g", ("--cap-add", "X"), ("/prefix",))


@pytest.fixture
def runtime(tmp_path: Path) -> str:
    (tmp_path / "source").mkdir()
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "footplate").symlink_to(tmp_path / "source")
    return str(tmp_path / "runtime")


def command(folder: NodeFolder, runtime: str, alone: bool = True, **variables: str) -> tuple[list[str], dict[str, str]]:
    return enclose(BOX, ["/opt/python", "train.py"], variables, {"HOME": "/root"}, alone, runtime, folder)


def after(argv: list[str], option: str) -> list[str]:
    return [argv[at + 1] for at, word in enumerate(argv) if word == option]


def test_user_arguments_precede_the_image_and_the_command(tmp_path: Path, runtime: str) -> None:
    argv, _ = command(NodeFolder(str(tmp_path), "r", 0), runtime)
    assert argv[:2] == ["/usr/bin/podman", "run"]
    assert argv[-5:] == ["--cap-add", "X", "sha256:abc", "/opt/python", "train.py"]


def test_mounts_are_read_only_or_writable(tmp_path: Path, runtime: str) -> None:
    folder = NodeFolder(str(tmp_path), "r", 0)
    argv, _ = command(folder, runtime, FOOTPLATE_ENDPOINT="unix:///home/me/socket/server.sock")
    assert after(argv, "--volume") == [
        f"{folder.path}:{folder.path}", f"{tmp_path}/source:{runtime}/footplate:ro",
        "/home/me/socket:/home/me/socket:ro", "/prefix:/prefix:ro",
    ]  # fmt: skip


def test_a_virtual_node_works_in_the_directory_of_the_first(tmp_path: Path, runtime: str) -> None:
    second, first = (NodeFolder(str(tmp_path), "r", node, shares=True) for node in (1, 0))
    argv, _ = command(second, runtime)
    own = [one for one in after(argv, "--volume") if not one.endswith(":ro")]
    assert own == [f"{path}:{path}" for path in (second.path, f"{first.path}/wd", f"{first.path}/tmp")]
    assert after(argv, "--workdir") == [f"{first.path}/wd"]


def test_ranks_of_one_node_share_the_memory_of_the_machine(tmp_path: Path, runtime: str) -> None:
    alone, _ = command(NodeFolder(str(tmp_path), "r", 0), runtime)
    assert (after(alone, "--shm-size"), after(alone, "--ipc")) == (["4g"], [])
    several, _ = command(NodeFolder(str(tmp_path), "r", 0), runtime, alone=False)
    assert (after(several, "--shm-size"), after(several, "--ipc")) == ([], ["host"])


def test_values_are_passed_through_the_environment(tmp_path: Path, runtime: str) -> None:
    argv, own = command(NodeFolder(str(tmp_path), "r", 0), runtime, SECRET="a\nb=c", HOME="/work")
    assert sorted(after(argv, "--env")) == ["HOME=/work", "SECRET"]  # the engine itself needs its own HOME
    assert (own["SECRET"], own["HOME"]) == ("a\nb=c", "/root")


def test_gpu_options_depend_on_the_engine(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert gpu_options("podman", root) == gpu_options("docker", root) == []
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    assert gpu_options("docker", root) == ["--gpus", "all"]
    assert gpu_options("podman", root) == []
    words = hidden_gpus("podman", ["GPU-1", "GPU-2"], root)
    assert words is not None
    assert "2 of this machine's GPUs" in words
    assert "nvidia-ctk cdi generate" in words
    assert hidden_gpus("docker", ["GPU-1"], root) is hidden_gpus("podman", [], root) is None
    (tmp_path / "etc" / "cdi").mkdir(parents=True)
    (tmp_path / "etc" / "cdi" / "nvidia.yaml").touch()
    assert gpu_options("podman", root) == ["--device", "nvidia.com/gpu=all"]
    assert hidden_gpus("podman", ["GPU-1"], root) is None
    assert gpu_options("docker", root) == ["--gpus", "all"]
