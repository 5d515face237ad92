"""Every block of the README and of every guide runs as it is printed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.networks import PrivateNetwork, ServerInside, why_no_namespaces
from support.servers import RcloneS3
from support.slurm_cluster import SlurmCluster, why_no_slurm
from support.wheels import make_wheel

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
CHECKED_BELOW = {"data.md", "environments.md", "hung-and-failed-runs.md", "slurm.md", "tabular-data.md"}
CHECKED_ELSEWHERE = {"ray.md"}  # tests/e2e/test_ray.py runs it on a cluster
ONLY_SHOWN = {
    page.name
    for page in GUIDES.glob("*.md")
    if not {"```python", "```bash"} & set(page.read_text("utf-8").splitlines())
}
"""Their commands need clusters or GPUs, or listen on the network; tests such as tests/e2e/test_gpus.py run the same."""

Run = Callable[[Path], list[str]]


class BucketServer(RcloneS3):
    BUCKET = "my-bucket"


@pytest.fixture
def bucket(environment: dict[str, str], rclone_program: Path) -> Iterator[None]:
    """Provide the variables that the data guide reads, and an S3 server with its bucket."""
    server = BucketServer(rclone_program)
    spec = server.new_store()
    environment["S3_ENDPOINT"] = spec.location["endpoint"]
    environment["S3_KEY_ID"] = spec.credentials["access_key_id"]
    environment["S3_SECRET"] = spec.credentials["secret_access_key"]
    yield
    server.stop()


def test_readme_runs(run_page: Run) -> None:
    (output,) = run_page(ROOT / "README.md")
    assert "first-model 1 0.1" in output
    row = next(line.split() for line in output.splitlines() if line.startswith("loss "))
    assert row[1:5] == ["10", "0.1", "0.1", "1"]


def test_readme_fits_on_one_screen() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 75
    assert "docs/footplate.svg" in text


def test_first_run_works(run_page: Run) -> None:
    _, initialized, ran, looked, submitted = run_page(ROOT / "docs" / "getting-started" / "first-run.md")
    assert initialized == ""
    assert ran.splitlines()[0] == "step 0: 6.0000"
    assert ran.splitlines()[-1].startswith("step 29: 0.0000")
    assert "Completed" in looked
    assert "outputs/model.json" in looked
    assert "node 0: the script runs" in looked
    assert "lowest-point version 1 comes from run parabola_" in submitted


@pytest.mark.parametrize(
    "name", sorted(p.name for p in GUIDES.glob("*.md") if p.name not in CHECKED_BELOW | CHECKED_ELSEWHERE | ONLY_SHOWN)
)
def test_guide_runs(name: str, run_page: Run) -> None:
    assert run_page(GUIDES / name)


def test_data_guide_runs(bucket: None, run_page: Run) -> None:
    output = "".join(run_page(GUIDES / "data.md"))
    assert "1 ['/cats/1.txt', '/cats/2.txt']" in output and "['/cats.txt']" in output
    assert "read by" in output and "pictures:1 has not changed since it was registered" in output


def test_environments_guide_runs(run_page: Run, tmp_path: Path) -> None:
    make_wheel(tmp_path / "my-project" / "dist", "mine", "1.0")
    assert run_page(GUIDES / "environments.md")


@pytest.fixture
def slurm(home: Path, environment: dict[str, str]) -> Iterator[None]:
    """Provide a Slurm cluster, and a server on its login node. `~` is a disk of its own on each node."""
    if reason := why_no_slurm() or why_no_namespaces():
        pytest.skip(reason)
    with contextlib.closing(PrivateNetwork(nodes=1)) as network, SlurmCluster(network, hide=[home]) as cluster:
        variables = {**environment, **cluster.variables, "HOME": str(cluster.scratch)}
        with ServerInside(network, home, variables):
            yield


def test_slurm_guide_runs(slurm: None, run_page: Run) -> None:
    assert "trained on n0" in "".join(run_page(GUIDES / "slurm.md"))


def test_guide_to_failed_runs_shows_stacks_and_restarts(run_page: Run) -> None:
    hung, failed, restarted, *_ = run_page(GUIDES / "hung-and-failed-runs.md")
    assert "hang.py:5 in <module>" in hung
    assert "exit code 1" in failed and "the disk is full" in failed
    assert "epoch 2" in restarted


def test_tables_guide_runs(run_page: Run) -> None:
    output = "".join(run_page(GUIDES / "tabular-data.md"))
    assert "Grace" in output and "rides-train 1 6" in output and "01067    1.5 2023-12-24" in output


@pytest.mark.parametrize("name", ["gpus.md", "kubernetes.md", "team-server.md"])
def test_pages_that_are_only_shown_have_nothing_to_run(name: str) -> None:
    text = (GUIDES / name).read_text(encoding="utf-8")
    assert name in ONLY_SHOWN and "```python" not in text and "```bash" not in text
