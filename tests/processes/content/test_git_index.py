"""Git watches files for us, and no change to a folder is missed because of it."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from footplate.content.blobs import BlobFolder
from footplate.content.git import LARGE, SETTLED_NS, GitIndex, index_of
from footplate.content.source_tree import scan, store
from footplate.content.stat_cache import StatCache
from footplate.testing.waiting import wait_until

PROJECTS = 10
FOLDERS = 13
IGNORED = "*.log\n/build/\n"


class Repository:
    """A repository with many projects to take snapshots of, all of them old enough to be watched."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.unused = iter(range(PROJECTS))
        root.mkdir()
        self.git("init", "-q", "-b", "trunk")
        self.git("config", "filter.strip.clean", "sed -e s/#.*//")
        (root / ".gitattributes").write_text("*.nb filter=strip\n")
        for project, number in itertools.product(range(PROJECTS), range(LARGE + 20)):
            folder = root / f"p{project}" / f"d{number % FOLDERS}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"f{number}.{'nb' if number % 7 == 0 else 'py'}").write_text(f"print({number})#x\n")
        for project in range(PROJECTS):
            (root / f"p{project}" / ".gitignore").write_text(IGNORED)
            (root / f"p{project}" / "link").symlink_to("d0")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")
        # The time of a change cannot be faked, and git is not relied on until the change is old enough.
        settled = time.time_ns() + SETTLED_NS
        wait_until(lambda: time.time_ns() > settled)

    def git(self, *arguments: str, at: Path | None = None) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *who, "-C", str(at or self.root), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    def next_project(self) -> Path:
        return self.root / f"p{next(self.unused)}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        yield Repository(tmp_path_factory.mktemp("watch") / "repository")


class Snapshots:
    """Consecutive snapshots of one folder."""

    def __init__(self, folder: Path, beside: Path) -> None:
        self.folder = str(folder)
        self.cache_folder = str(beside / f"cache-{folder.name}")
        self.blobs = BlobFolder(str(beside / "blobs"))

    def cache(self) -> StatCache:
        return StatCache.for_folder(self.cache_folder, self.folder)

    def take(self) -> str:
        return store(scan(self.folder, cache=self.cache()), self.blobs)

    def looked_at(self) -> dict[str, set[str]] | None:
        """Return the files that the next scan will look at; None for all."""
        cache = self.cache()
        with GitIndex(self.folder, cache.index) as watcher:
            return watcher.to_look_at(cache.others)


@pytest.fixture
def snapshots(repository: Repository, tmp_path: Path) -> Snapshots:
    return Snapshots(repository.next_project(), tmp_path)


def test_a_scan_looks_only_at_files_that_git_does_not_watch(snapshots: Snapshots):
    snapshots.take()
    assert snapshots.looked_at() == {"": {"link"}}
    edited = Path(snapshots.folder, "d3", "f3.py")
    edited.write_text("other")
    Path(snapshots.folder, "d4", "new").write_text("new")
    before = snapshots.looked_at()
    assert before == {"": {"link"}, "d3/": {"f3.py"}}, "a new name is found by itself"
    snapshots.take()
    assert snapshots.looked_at() == {"": {"link"}, "d3/": {"f3.py"}, "d4/": {"new"}}


def test_a_changed_index_is_learnt_again(repository: Repository, snapshots: Snapshots):
    snapshots.take()
    Path(snapshots.folder, "d3", "f3.py").write_text("other")
    repository.git("add", "-A", at=Path(snapshots.folder))
    assert snapshots.looked_at() is None
    assert snapshots.take() == scan(snapshots.folder).digest
    assert snapshots.looked_at() == {"": {"link"}, "d3/": {"f3.py"}}, "too recent to be left to git"


def test_a_small_folder_is_not_left_to_git(tmp_path: Path, repository: Repository):
    project = tmp_path / "small"
    project.mkdir()
    (project / "train.py").write_text("print(1)")
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    subprocess.run(["git", "-C", str(project), "add", "-A"], check=True, timeout=60)
    (project / ".amlignore").write_text(".git\n")
    small = Snapshots(project, tmp_path)
    small.take()
    assert index_of(str(project)) is not None
    assert small.cache().index is None


def test_an_index_without_a_checksum_is_ignored(tmp_path: Path, repository: Repository):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    (tmp_path / ".git" / "index").write_bytes(b"DIRC" + b"\0" * 40)
    assert index_of(str(tmp_path)) is None
    (tmp_path / ".git" / "index").write_bytes(b"short")
    assert index_of(str(tmp_path)) is None
    assert index_of("/") is None


def test_a_git_file_points_to_the_repository(tmp_path: Path, repository: Repository):
    """In worktrees and submodules `.git` is a file."""
    subprocess.run(
        ["git", "init", "-q", f"--separate-git-dir={tmp_path / 'there'}", str(tmp_path / "here")],
        check=True,
        timeout=60,
    )
    (tmp_path / "here" / "f").write_text("x")
    subprocess.run(["git", "-C", str(tmp_path / "here"), "add", "f"], check=True, timeout=60)
    key = index_of(str(tmp_path / "here"))
    assert key is not None and key[0] == str(tmp_path / "there")
    (tmp_path / "here" / ".git").write_text("nonsense")
    assert index_of(str(tmp_path / "here")) is None


# ── Whatever happens to a folder ──────────────────────────────────────────────────────────────────────────────────────


def _rewrite(file: Path, _: Repository) -> None:
    """Write other bytes with the same size and modification time."""
    info = file.stat()
    file.write_bytes(bytes(byte ^ 1 if byte > 64 else byte for byte in file.read_bytes()))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


def _comment(file: Path, _: Repository) -> None:
    """Make a change that the clean filter of *.nb hides from git."""
    file.write_text(file.read_text().replace("#", "#y"))


def _replace(file: Path, _: Repository) -> None:
    aside = file.with_name("aside")
    shutil.copy2(file, aside)
    aside.write_text(file.read_text().upper())
    shutil.copystat(file, aside)
    aside.replace(file)


def _to_folder(file: Path, _: Repository) -> None:
    file.unlink()
    file.mkdir()
    (file / "inside").write_text("x")


def _to_link(file: Path, _: Repository) -> None:
    file.unlink()
    file.symlink_to("f0.nb")


def _move_folder(file: Path, _: Repository) -> None:
    """Move the folder and leave a link to it."""
    moved = file.parent.with_name(file.parent.name + "-moved")
    if not moved.exists() and not file.parent.is_symlink():
        file.parent.rename(moved)
        file.parent.symlink_to(moved.name)


def _more_rules(file: Path, _: Repository) -> None:
    with (file.parent.parent / ".gitignore").open("a") as rules:
        rules.write(f"/{file.parent.name}/{file.name}\n")


def _git(*arguments: str) -> Callable[[Path, Repository], None]:
    return lambda file, repository: repository.git(*arguments, at=file.parent.parent)


def _git_of_file(*arguments: str) -> Callable[[Path, Repository], None]:
    def run(file: Path, repository: Repository) -> None:
        inside = subprocess.run(
            ["git", "ls-files", "--error-unmatch", file.name], cwd=file.parent, capture_output=True, timeout=60
        )
        if inside.returncode == 0:
            repository.git(*arguments, file.name, at=file.parent)

    return run


CHANGES: dict[str, Callable[[Path, Repository], object]] = {
    "nothing": lambda file, _: None,
    "write": lambda file, _: file.write_text(file.read_text() + "more"),
    "rewrite": _rewrite,
    "comment": _comment,
    "touch": lambda file, _: file.touch(),
    "chmod": lambda file, _: file.chmod(file.stat().st_mode ^ 0o111),
    "add": lambda file, _: file.with_name(file.name + "x").write_text("new"),
    "remove": lambda file, _: file.unlink(),
    "rename": lambda file, _: file.rename(file.with_name(file.name + "y")),
    "replace": _replace,
    "empty folder": lambda file, _: (file.parent / f"empty-{file.name}").mkdir(exist_ok=True),
    "to folder": _to_folder,
    "to link": _to_link,
    "move folder": _move_folder,
    "ignored file": lambda file, _: (file.parent / "x.log").write_text("ignored"),
    "more rules": _more_rules,
    "git add": _git("add", "-A", "."),
    "git commit": _git("commit", "-q", "--allow-empty", "-a", "-m", "more"),
    "git restore": _git("checkout", "-q", "HEAD", "."),
    "git status": _git("status"),
    "git crlf": _git("config", "core.autocrlf", "input"),
    "assume unchanged": _git_of_file("update-index", "--assume-unchanged"),
    "skip worktree": _git_of_file("update-index", "--skip-worktree"),
    # Not `git rm --cached`: it refuses files that are marked "skip worktree".
    "forget": _git_of_file("update-index", "--force-remove"),
}


# Few files, so that several things happen to the same one.
@given(st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 9)), min_size=20, max_size=40))
@settings(
    max_examples=PROJECTS - 3,  # each has a project of its own
    deadline=None,
    database=None,
    phases=[Phase.generate],  # changes to a project cannot be repeated
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_change_is_seen(repository: Repository, tmp_path: Path, changes: list[tuple[str, int]]):
    snapshots = Snapshots(repository.next_project(), tmp_path)
    snapshots.take()
    for change, number in changes:
        files = sorted(path for path in Path(snapshots.folder).glob("d*/*") if path.is_file() and not path.is_symlink())
        CHANGES[change](files[number % len(files)], repository)
        assert snapshots.take() == scan(snapshots.folder).digest, f"{change} of {files[number % len(files)]}"
    assert snapshots.cache().index is not None
