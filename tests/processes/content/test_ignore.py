"""Compare every answer with `git check-ignore`, the reference."""

from __future__ import annotations

import os
import random
import subprocess

import pytest

from footplate.content.ignore import IgnoreRules

CASES = [
    "*.o\n!keep.o",
    "build/\n",
    "/top",
    "a/b",
    "a/**/z",
    "**/deep",
    "deep/**",
    "foo**/bar",
    "foo/*\n!foo/bar",
    "foo/\n!foo/bar",
    "# comment\n\\#hash\n\\!bang",
    "space \nkept\\ \n",
    "[a-c]x\n[!a]y\n[^b]z\n[]]q\n[[:digit:]]\n[[:nonsense:]]\n[open",
    "\ufeffbom",
    "line\r\nother\r",
    "end\\",
    "a\\/b",
    "*\n!*/\n!*.py",
    "?",
    "//x\n/",
    "***/a",
]
NAMES = [
    "a", "b", "foo", "bar", "deep", "top", "keep.o", "x.o", "ax", "ay", "bz", "]q", "7", "é", "#hash", "!bang",
    "space", "kept ", "build", "bom", "line", "other", "end\\", "z", "m.py", "[open", "a]", "-", "line\r",
]  # fmt: skip
PIECES = [
    "a", "b", "foo", "bar", "*", "**", "***", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-f]", "[]a]", "[!]]",
    "\\", "\\*", " ", "\\ ", ".", "x", "é", "[[:alpha:]]", "[[:digit:]x]", "[a", "[[:bad:]]", "[a\\]]",
    "[\\a-c]", "[c-a]", "-", "!", "#", "[a-]", "[-a]", "[[:]", "[a/b]", "[--0]", "\t", "\\/", "[a-\\c]", "[^]",
    "[[:space:]-z]",
]  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=60)
    chance = random.Random(7)
    for _ in range(250):
        path = root.joinpath(*(chance.choice(NAMES) for _ in range(chance.randint(1, 4))))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if chance.random() < 0.3 else path.touch()
        except OSError:  # a file exists where a folder is needed
            continue
    return root


def everything(root) -> list[tuple[str, bool]]:
    found = []
    for above, folders, files in os.walk(root):
        if above == str(root):
            folders.remove(".git")
        found += [(os.path.relpath(os.path.join(above, name), root), True) for name in folders]
        found += [(os.path.relpath(os.path.join(above, name), root), False) for name in files]
    return found


def by_git(root, text: str, paths: list[tuple[str, bool]]) -> set[str]:
    (root / ".gitignore").write_bytes(text.encode())
    asked = b"".join(os.fsencode(path) + b"\0" for path, _ in paths)
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    done = subprocess.run(command, cwd=root, input=asked, capture_output=True, timeout=60)
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}


def by_us(text: str, paths: list[tuple[str, bool]]) -> set[str]:
    rules = IgnoreRules(text.encode(), False)
    return {path for path, is_dir in paths if rules.ignores(path, is_dir)}


@pytest.mark.parametrize("text", CASES)
def test_rules_decide_as_git_does(repository, text):
    paths = everything(repository)
    assert by_us(text, paths) == by_git(repository, text, paths)


def random_line(chance: random.Random) -> str:
    line = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 6)))
    line = chance.choice(["", "", "", "!", "/", "#"]) + line
    return line + chance.choice(["", "", "", "/", " ", "\\ ", "\r"])


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_decide_as_in_git(repository, seed):
    chance = random.Random(seed)
    paths = everything(repository)
    for _ in range(50):
        text = "\n".join(random_line(chance) for _ in range(chance.randint(1, 6))) + chance.choice(["", "\n"])
        assert by_us(text, paths) == by_git(repository, text, paths), text
