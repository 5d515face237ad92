from __future__ import annotations

import os
import subprocess

import pytest

from footplate.content.git import provenance


@pytest.fixture
def git(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AZUREML_GIT_", "GIT_"))]:
        monkeypatch.delenv(name)
    root = tmp_path / "repository"
    root.mkdir()

    def run(*arguments: str) -> str:
        who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *who, "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()

    run("init", "-q", "-b", "trunk")
    (root / "f.py").write_text("one\n")
    (root / "sub").mkdir()
    run("add", "-A")
    run("commit", "-q", "-m", "first")
    run.root = root  # type: ignore[attr-defined]
    return run


def test_a_clean_repository_has_all_facts(git):
    git("remote", "add", "origin", "https://me:secret@example.org/team/code.git")
    facts, diff = provenance(str(git.root / "sub"))
    assert facts == {
        "repository_uri": "https://example.org/team/code.git",
        "branch": "trunk",
        "commit": git("rev-parse", "HEAD"),
        "dirty": "False",
    }
    assert diff == b""


def test_the_diff_of_uncommitted_changes_can_be_applied(git, tmp_path):
    git("clone", "-q", str(git.root), str(tmp_path / "clone"))
    (git.root / "f.py").write_bytes("two é \xff\n".encode("latin-1"))
    (git.root / "staged.bin").write_bytes(bytes(range(256)))
    git("add", "staged.bin")
    (git.root / "untracked").write_text("not part of it")
    facts, diff = provenance(str(git.root))
    assert facts["dirty"] == "True"
    subprocess.run(["git", "apply"], cwd=tmp_path / "clone", input=diff, check=True, timeout=60)
    for name in ("f.py", "staged.bin"):
        assert (tmp_path / "clone" / name).read_bytes() == (git.root / name).read_bytes()
    assert b"untracked" not in diff


def test_untracked_code_makes_the_directory_dirty(git):
    (git.root / "sub" / "train.py").write_text("x")
    facts, diff = provenance(str(git.root / "sub"))
    assert facts["dirty"] == "True", "the commit does not contain the code that runs"
    assert diff == b""


def test_ignored_files_and_results_do_not_make_a_directory_dirty(git):
    (git.root / "sub" / ".gitignore").write_text("*.log\n")
    git("add", "sub/.gitignore")
    git("commit", "-q", "-m", "ignore logs")
    for name in ("train.log", "outputs/model.pt", "logs/out.txt", ".azureml/config.json"):
        (git.root / "sub" / name).parent.mkdir(exist_ok=True)
        (git.root / "sub" / name).write_text("x")
    (git.root / "elsewhere.py").write_text("x")
    assert provenance(str(git.root / "sub")).facts["dirty"] == "False"


def test_a_detached_head_has_no_branch(git):
    git("checkout", "-q", "--detach")
    facts, _ = provenance(str(git.root))
    assert "branch" not in facts
    assert facts["commit"] == git("rev-parse", "HEAD")


def test_a_repository_without_commits_has_no_commit(git, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True, timeout=60)
    facts, diff = provenance(str(tmp_path / "new"))
    assert "commit" not in facts
    assert diff == b""


def test_a_folder_outside_a_repository_has_no_facts(tmp_path, git):
    (tmp_path / "plain").mkdir()
    assert provenance(str(tmp_path / "plain")) == ({}, b"")


def test_a_machine_without_git_has_no_facts(git, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance(str(git.root)) == ({}, b"")


def test_azureml_git_variables_override_git(git, monkeypatch):
    monkeypatch.setenv("AZUREML_GIT_BRANCH", "release")
    monkeypatch.setenv("AZUREML_GIT_BUILD_ID", "17")
    facts, _ = provenance(str(git.root))
    assert facts["branch"] == "release"
    assert facts["build_id"] == "17"
    assert facts["commit"] == git("rev-parse", "HEAD")


def test_the_repository_of_a_running_hook_is_ignored(git, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert provenance(str(git.root)).facts["branch"] == "trunk"
