from __future__ import annotations

import json

import pytest

from footplate.content.manifest import FILE, FOLDER, LINK, ManifestEntry, parse_manifest, to_manifest
from footplate.errors import InvalidInput

DIGEST = "a" * 64


def document(*rows, **fields) -> bytes:
    return json.dumps({"entries": list(rows), "format": 1, **fields}).encode()


def test_a_manifest_has_one_canonical_form():
    entries = [
        ManifestEntry("z", FOLDER, 0o755, 0, ""),
        ManifestEntry("a/\udcff\n\"'", FILE, 0o755, 3, DIGEST),
        ManifestEntry("l", LINK, 0o644, 0, "a"),
    ]
    written = to_manifest(entries)
    assert written == (
        b'{"entries":[["a/\\udcff\\n\\"\'","f",493,3,"'
        + DIGEST.encode()
        + b'"],["l","l",420,0,"a"],["z","d",493,0,""]],'
        b'"format":1}'
    )
    assert parse_manifest(written) == sorted(entries)


def file(path: str) -> list:
    return [path, "f", 0o644, 1, DIGEST]


def link(path: str, target: str) -> list:
    return [path, "l", 0o644, 0, target]


@pytest.mark.parametrize(
    "path",
    ["", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/", "a\0b", ".", "\ud800", "a/./b"],
)
def test_paths_outside_the_folder_are_refused(path):
    with pytest.raises(InvalidInput, match="path"):
        parse_manifest(document(file(path)))


@pytest.mark.parametrize(
    "rows",
    [
        [link("l", "/etc")],
        [link("l", "..")],
        [link("l", "../x")],
        [link("a/l", "../../x")],
        [link("l", "a/../../x")],
        [link("l", "")],
        [link("l", "x\0")],
        # `x/up` is the folder itself, so `x/up/..` is outside, although it looks as if it were `x`.
        [link("l", "x/up/../secret"), link("x/up", "..")],
        [link("a", "b"), link("b", "/etc")],
    ],
)
def test_links_that_lead_out_are_refused(rows):
    with pytest.raises(InvalidInput, match="leads out of the folder") as refused:
        parse_manifest(document(*rows))
    assert refused.value.hint


@pytest.mark.parametrize("target", ["x", "a/../b", "./x", "dangling/deep", "l", ".", "a//b/"])
def test_links_that_stay_inside_are_accepted(target):
    assert parse_manifest(document(link("l", target)))[0].content == target
    assert parse_manifest(document(link("d/l", "../" + target)))


@pytest.mark.parametrize(
    "rows",
    [
        [file("a"), file("a")],
        [file("b"), file("a")],
        [file("a"), file("a/b")],
        [link("a", "x"), file("a/b/c")],
    ],
)
def test_contradictory_entries_are_refused(rows):
    with pytest.raises(InvalidInput):
        parse_manifest(document(*rows))


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        document(format=2),
        document(more=1),
        b'{"entries": {}, "format": 1}',
        document("row"),
        document(["a", "f", 0o644, 1]),
        document(["a", "f", 0o644, 1, DIGEST, "more"]),
        document(["a", "f", 0o777, 1, DIGEST]),
        document(["a", "f", 0o644, -1, DIGEST]),
        document(["a", "f", True, 1, DIGEST]),
        document(["a", "x", 0o644, 1, DIGEST]),
        document(["a", "f", 0o644, 1, "../../etc/passwd"]),
        document([["a"], "f", 0o644, 1, DIGEST]),
    ],
)
def test_other_documents_are_refused(manifest):
    with pytest.raises(InvalidInput) as refused:
        parse_manifest(manifest)
    assert refused.value.hint


def test_circular_links_are_accepted():
    assert len(parse_manifest(document(link("a", "b"), link("b", "a"), link("c", "c/x")))) == 3
