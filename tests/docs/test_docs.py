"""The documentation names only things that exist, and documents every command, variable and setting."""

from __future__ import annotations

import configparser
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from footplate.cli.main import cli
from footplate.cli.sweep import SweepCommands
from footplate.data import cache_limit
from footplate.services.settings import KNOWN, Settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / n for n in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")] + sorted((ROOT / "docs").rglob("*.md"))
GENERATED = [ROOT / "docs" / "reference" / name for name in ("cli.md", "http.md")]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            target, _, anchor = link.partition("#")
            linked = page.parent / target if target else page
            assert linked.exists(), f"{name(page)} links to {link}"
            assert not anchor or anchor in anchors_of(linked), f"{name(page)} links to {link}"


def anchors_of(page: Path) -> set[str]:
    """Return the headings of a page in the form that links use."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_blocks_compile(page: Path) -> None:
    for language, body in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(body, name(page), "exec")


def commands_of(page: Path) -> list[str]:
    """Return every `footplate …` of a page: lines of blocks, and inline code."""
    text = page.read_text(encoding="utf-8")
    lines = [
        line.strip() for language, body in _BLOCK.findall(text) for line in body.splitlines() if language != "python"
    ]
    inline = re.findall(r"`(footplate [^`]+)`", _BLOCK.sub("", text))
    assigned = [re.sub(r"^\w+=\$\((.*)\)$", r"\1", line) for line in lines]
    return [line for line in assigned + inline if line.startswith("footplate ")]


@pytest.mark.parametrize("page", [p for p in PAGES if p not in GENERATED], ids=name)
def test_commands_and_options_exist(page: Path) -> None:
    for line in commands_of(page):
        words = shlex.split(re.split(r" {2,}| #| \| ", line.replace("…", "X"))[0])[1:]
        command: click.Command = cli
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            below = command.get_command(click.Context(command), words[0])
            if below is None and "|" in words[0]:
                break  # `footplate server start|stop` names several
            if below is None and isinstance(command, SweepCommands):
                below = command.get_command(click.Context(command), "run")  # its name may be left out
            assert below is not None, f"{name(page)}: {line}"
            command, words = below, words[1:]
        if command.context_settings.get("allow_interspersed_args") is False:
            command.make_parser(click.Context(command, **command.context_settings)).parse_args(words)
            continue
        known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        used = [w for w in (words[: words.index("--")] if "--" in words else words) if w.startswith("-")]
        assert set(used) <= known or command.context_settings.get("allow_extra_args"), f"{name(page)}: {line}"


def test_hints_name_commands_that_exist() -> None:
    """Check hints, because they are the last thing that a user in trouble reads."""
    hints = [
        words
        for source in (ROOT / "src").rglob("*.py")
        for words in re.findall(r": footplate ([^\"'`;]*)", source.read_text(encoding="utf-8"))
    ]
    assert len(hints) > 10
    for words in hints:
        command: click.Command = cli
        for word in words.split():
            if not isinstance(command, click.Group) or not word.isalpha():
                break
            below = command.get_command(click.Context(command), word)
            assert below is not None, f"a hint names: footplate {words}"
            command = below


def test_every_footplate_variable_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "environment-variables.md").read_text(encoding="utf-8")
    found = {
        variable
        for source in (ROOT / "src").rglob("*.py")
        for variable in re.findall(r"[\"'](FOOTPLATE_[A-Z]+(?:_[A-Z]+)*)[\"']", source.read_text(encoding="utf-8"))
    }
    assert len(found) > 5
    missing = sorted(v for v in found if f"`{v}`" not in page)
    assert not missing, f"not in environment-variables.md: {missing}"


def test_every_setting_is_documented_with_default_and_values() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    shown = configparser.ConfigParser(interpolation=None)
    shown.read_string(next(body for language, body in _BLOCK.findall(page) if language == "ini"))
    defaults = {**asdict(Settings()), cache_limit.NAME: "100 GiB"}
    assert {name: value for section in shown.sections() for name, value in shown.items(section)} == defaults
    assert cache_limit.read_limit("settings.ini", dict(shown.items(cache_limit.SECTION))) == cache_limit.DEFAULT_LIMIT
    for section, names in KNOWN.items():
        for name, values in names.items():
            row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
            assert name in shown[section] and all(f"`{value}`" in row for value in values)


def test_every_page_is_in_an_index() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        own = page.parent / "README.md"
        index = own if own.exists() else ROOT / "docs" / "README.md"
        assert page == index or f"({page.relative_to(index.parent)})" in index.read_text(encoding="utf-8")


def test_picture_is_svg_with_one_title() -> None:
    tree = ElementTree.parse(ROOT / "docs" / "footplate.svg")
    assert tree.getroot().tag.endswith("svg")
    assert len(tree.findall(".//{http://www.w3.org/2000/svg}title")) == 1
