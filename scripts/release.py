"""Make a release: set the version, date the changelog, build the packages, and try them as a new user would.

    make release VERSION=0.2.0

Nothing is uploaded, tagged or committed; the last lines say how. docs/internals/releasing.md has the whole procedure.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
GUIDE = ROOT / "docs" / "getting-started" / "first-run.md"
UV = [str(ROOT / ".uv" / "bin" / "python"), str(ROOT / "scripts" / "uv_like_pip.py")]
VERSIONS = {
    "src/footplate/__init__.py": ['__version__ = "{}"'],
    "pyproject.toml": ['\nversion = "{}"\n'],
    "packages/azureml/pyproject.toml": ['\nversion = "{}"\n', '"footplate=={}"'],
    "uv.lock": [
        'name = "footplate"\nversion = "{}"\n',
        'name = "footplate-azureml"\nversion = "{}"\n',
    ],
    "docs/guides/leaving-azure-ml.md": ["footplate-{}-py3", "footplate_azureml-{}-py3"],
}
"""File → texts in which the version stands, once each."""


class ReleaseError(Exception):
    pass


def current_version(root: Path = ROOT) -> str:
    line = re.search(r'^__version__ = "(.*)"$', (root / "src/footplate/__init__.py").read_text(), re.MULTILINE)
    if line is None:
        raise ReleaseError("src/footplate/__init__.py has no line __version__ = …")
    return line[1]


def check_version(requested: str, current: str) -> None:
    """Accept the current version too, so that an interrupted release can be repeated."""
    try:
        version = Version(requested)
    except InvalidVersion:
        raise ReleaseError(f"{requested!r} is not a version\nhint: make release VERSION=0.2.0") from None
    if version < Version(current):
        raise ReleaseError(f"{requested} is older than {current}\nhint: choose a version above {current}")


def set_version(version: str, root: Path = ROOT) -> None:
    old = current_version(root)
    for name, texts in VERSIONS.items():
        file = root / name
        content = file.read_text(encoding="utf-8")
        for text in texts:
            if content.count(text.format(old)) != 1:
                raise ReleaseError(f"{name} does not contain {text.format(old).strip()!r} exactly once")
            content = content.replace(text.format(old), text.format(version))
        file.write_text(content, encoding="utf-8")


def date_changelog(version: str, day: datetime.date, changelog: Path = ROOT / "CHANGELOG.md") -> None:
    """Move the notes below [Unreleased] to a heading of the version, unless it has one."""
    text = changelog.read_text(encoding="utf-8")
    if f"\n## [{version}] - " in text:
        return
    before, heading, notes = text.partition("## [Unreleased]\n")
    if not heading or not notes.partition("\n## [")[0].strip():
        raise ReleaseError("CHANGELOG.md has no notes below ## [Unreleased]\nhint: list what changed for users there")
    changelog.write_text(f"{before}{heading}\n## [{version}] - {day.isoformat()}\n{notes}", encoding="utf-8")


def build() -> list[Path]:
    """Build sdists, and wheels from them, check what an index would refuse, and return the wheels."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([*UV, "build", "--quiet", "--all-packages", "--out-dir", str(DIST)], cwd=ROOT, check=True)
    files = sorted(file for file in DIST.iterdir() if file.suffix in (".whl", ".gz"))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)], check=True)
    return [file for file in files if file.suffix == ".whl"]


def try_wheels(wheels: list[Path], version: str) -> None:
    """Install the wheels in a new environment, and run the first-run guide with a home of its own."""
    with tempfile.TemporaryDirectory(prefix="footplate-release-") as name:
        folder = Path(name)
        venv = folder / "venv"
        subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, str(venv)], check=True)
        python = str(venv / "bin" / "python")
        subprocess.run([*UV, "pip", "install", "--quiet", "--python", python, *map(str, wheels)], check=True)
        project = folder / "project"
        project.mkdir()
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("FOOTPLATE_", "PYTHON"))}
        variables["HOME"] = str(folder)
        variables["FOOTPLATE_HOME"] = str(folder / "home")
        variables["PATH"] = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
        runner = str(ROOT / "tests" / "docs" / "page_runner.py")
        try:
            subprocess.run([python, runner, str(GUIDE)], cwd=project, env=variables, check=True)
            check_installation(python, version, variables)
        finally:
            subprocess.run([str(venv / "bin" / "footplate"), "server", "stop"], env=variables, check=False)


def check_installation(python: str, version: str, variables: dict[str, str]) -> None:
    code = (
        "import footplate, importlib.metadata as m, pathlib; "
        "page = pathlib.Path(footplate.__file__).with_name('page') / 'index.html'; "
        "print(footplate.__version__, m.version('footplate-azureml'), page.exists())"
    )
    done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, check=True)
    if done.stdout.split() != [version, version, "True"]:
        raise ReleaseError(f"versions of the installed packages, and whether the page is there: {done.stdout.strip()}")


def main() -> None:
    if len(sys.argv) != 2 or not sys.argv[1]:
        raise ReleaseError("no version given\nhint: make release VERSION=0.2.0")
    version = sys.argv[1]
    check_version(version, current_version())
    set_version(version)
    date_changelog(version, datetime.datetime.now(datetime.timezone.utc).date())
    wheels = build()
    try_wheels(wheels, version)
    names = ", ".join(sorted(file.name for file in DIST.iterdir() if file.suffix in (".whl", ".gz")))
    print(f"\nFootplate {version} is in dist/: {names}")
    print("Next, as docs/internals/releasing.md describes: commit, tag and upload.")


if __name__ == "__main__":
    try:
        main()
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
