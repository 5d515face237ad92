"""Set-up on a fresh machine: the lock, pip settings for uv, make targets, wheels."""

from __future__ import annotations

import datetime
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def uv_like_pip() -> ModuleType:
    return load_script("uv_like_pip")


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return load_script("release")


def test_lock_names_only_pypi() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert set(re.findall(r'registry = "([^"]*)"', text)) == {"https://pypi.org/simple"}
    assert set(re.findall(r"https?://([^/\"]+)/", text)) == {"pypi.org", "files.pythonhosted.org"}
    assert "file://" not in text


def test_lock_contains_every_dependency() -> None:
    """Read the file with a regular expression, because Python 3.10 has no tomllib."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = re.search(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert section is not None
    names = re.findall(r'"([\w-]+)', section[1])
    assert "sqlalchemy" in names
    assert {n for n in names if f'\nname = "{n}"\n' not in lock} == set()


@pytest.mark.parametrize("project", [".", "packages/azureml"])
def test_newer_pythons_may_install_the_packages(project: str) -> None:
    found = re.search(r'^requires-python = "(.*)"$', (ROOT / project / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    allowed = SpecifierSet(found[1])
    assert [minor for minor in range(8, 20) if f"3.{minor}.0" in allowed] == list(range(10, 20))


def test_demo_installs_the_packages_alone_and_test_the_rest(tmp_path: Path) -> None:
    """Print what make would run in a fresh checkout."""
    for file in ("Makefile", "uv.lock", "pyproject.toml", "packages/azureml/pyproject.toml"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    for file in ("scripts/install_uv.sh", "scripts/uv_like_pip.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    demo, test = (
        subprocess.run(["make", "-n", target], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
        for target in ("demo", "test")
    )
    assert "--no-dev" in demo.stdout
    assert "sync" in test.stdout
    assert "--no-dev" not in test.stdout


def test_pip_settings_become_uv_settings(uv_like_pip: ModuleType) -> None:
    listing = "\n".join(
        [
            "global.extra-index-url='https://a.example/simple\\nhttps://b.example/simple'",
            "global.cert='/etc/other.crt'",
            "install.find-links='/wheels /more'",
            ":env:.cert='/etc/mine.crt'",
            ":env:.index-url='https://mirror.example/simple'",
            "global.no-color='true'",
        ]
    )
    found = uv_like_pip.uv_environment(uv_like_pip.pip_settings(listing), {"PATH": "/bin", "VIRTUAL_ENV": "/x"})
    assert found == {
        "PATH": "/bin",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "SSL_CERT_FILE": "/etc/mine.crt",
    }


def test_uv_settings_take_precedence_over_pip_settings(uv_like_pip: ModuleType) -> None:
    found = uv_like_pip.uv_environment({"index-url": "https://pip.example"}, {"UV_DEFAULT_INDEX": "https://uv.example"})
    assert found == {"UV_DEFAULT_INDEX": "https://uv.example"}


def test_make_help_names_the_targets() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    targets = [line.split()[1] for line in done.stdout.splitlines()]
    assert {"demo", "test", "lint", "bench", "help"} <= set(targets)


FAKE_MAKE = """#!/bin/sh
echo "$1" >> "$RECORD"
case "$FAILS" in *"$(wc -l < "$RECORD" | tr -d ' ')"*) exit 1 ;; esac
"""


@pytest.mark.parametrize(
    ("failing", "targets", "passes"),
    [
        ("", ["lint", "test"], True),
        ("1", ["lint"], False),
        ("2", ["lint", "test", "test"], True),
        ("2 3", ["lint", "test", "test"], False),
    ],
)
def test_ci_lints_then_tests_and_repeats_failures(
    tmp_path: Path, failing: str, targets: list[str], passes: bool
) -> None:
    record, make = tmp_path / "record", tmp_path / "make"
    make.write_text(FAKE_MAKE)
    make.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RECORD": str(record), "FAILS": failing}
    done = subprocess.run([ROOT / ".ci" / "run"], env=variables, check=False)
    assert (done.returncode == 0) is passes
    assert record.read_text().split() == targets


def test_setup_without_python_names_the_way_out(tmp_path: Path) -> None:
    """Run the set-up from a copy, to check that it leaves no half-made .uv/ behind."""
    (tmp_path / "scripts").mkdir()
    for file in ("scripts/install_uv.sh", "uv.lock"):
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    done = subprocess.run(
        ["sh", "scripts/install_uv.sh"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": "/no/such/python"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "error: no Python 3.10 or newer on this machine (looked for /no/such/python)" in done.stderr
    assert "hint: install one" in done.stderr
    assert not (tmp_path / ".uv").exists()


def test_setup_with_a_python_without_venv_names_the_package(tmp_path: Path) -> None:
    """Simulate Debian's python3-minimal, an interpreter without ensurepip."""
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    bare.chmod(0o755)
    (tmp_path / "scripts").mkdir()
    for file in ("scripts/install_uv.sh", "uv.lock"):
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    done = subprocess.run(
        ["sh", "scripts/install_uv.sh"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": str(bare)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot create virtual environments" in done.stderr
    assert "apt-get install python3-venv" in done.stderr


@pytest.mark.parametrize(
    ("folder", "needed"),
    [
        (
            ".",
            [
                "footplate/page/index.html",
                "footplate/py.typed",
                "footplate/storage/migrations/env.py",
                "footplate/job/bootstrap.py",
            ],
        ),
        ("packages/azureml", ["azureml/py.typed", "azureml/core/__init__.py", "azureml/exceptions.py"]),
    ],
)
def test_wheels_contain_required_files(folder: str, needed: list[str], tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT / folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert set(needed) <= names
    migrations = [p.name for p in (ROOT / "src/footplate/storage/migrations/versions").glob("[0-9]*.py")]
    assert migrations
    if folder == ".":
        assert {f"footplate/storage/migrations/versions/{name}" for name in migrations} <= names
    assert not [n for n in names if "__pycache__" in n or n.startswith(("tests/", "docs/"))]
    assert "azureml/__init__.py" not in names, "azureml is a namespace that other distributions share"


def test_one_version_stands_in_all_files(release: ModuleType) -> None:
    version = release.current_version()
    for name, texts in release.VERSIONS.items():
        content = (ROOT / name).read_text(encoding="utf-8")
        assert [content.count(text.format(version)) for text in texts] == [1] * len(texts), name


def test_a_release_sets_the_version_in_all_files(release: ModuleType, tmp_path: Path) -> None:
    for name in release.VERSIONS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    release.set_version("7.8.9", tmp_path)
    assert release.current_version(tmp_path) == "7.8.9"
    assert '"footplate==7.8.9"' in (tmp_path / "packages/azureml/pyproject.toml").read_text(encoding="utf-8")


def test_a_release_dates_the_notes_of_the_changelog_once(release: ModuleType, tmp_path: Path) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [1.0.0] - 2026-01-01\n\n- Old.\n")
    for _ in range(2):
        release.date_changelog("1.1.0", datetime.date(2026, 2, 3), changelog)
    assert changelog.read_text() == (
        "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-03\n\n- New.\n\n## [1.0.0] - 2026-01-01\n\n- Old.\n"
    )
    with pytest.raises(release.ReleaseError, match="no notes"):
        release.date_changelog("1.2.0", datetime.date(2026, 2, 3), changelog)


@pytest.mark.parametrize(("version", "message"), [("1", "older"), ("next", "not a version"), ("2.0.0a1", "older")])
def test_a_release_refuses_versions_that_go_back(release: ModuleType, version: str, message: str) -> None:
    with pytest.raises(release.ReleaseError, match=message):
        release.check_version(version, "2.0.0")
