from __future__ import annotations

import pytest

from footplate.domain.codec import from_json, to_json
from footplate.domain.node_kinds import (
    KnownKind,
    NodeKind,
    describe,
    kind_for,
    request_of,
    summarize,
    with_kind,
    without_request,
)
from footplate.errors import InvalidInput

PLAIN, WITH_GPU = NodeKind("x86_64", "2.36"), NodeKind("x86_64", "2.28", gpu=True, cuda="12.4")


def known(request: str, kind: NodeKind, run: str = "r") -> KnownKind:
    return KnownKind(request, kind, run, 5.0)


def test_requests_differ_by_gpus_and_overridden_options() -> None:
    requests = [
        request_of(False, {}),
        request_of(True, {}),
        request_of(True, {"partition": "long"}),
        request_of(False, {"partition": "long", "qos": "high"}),
    ]
    assert len(set(requests)) == 4
    assert request_of(False, {"qos": "high", "partition": "long"}) == requests[3]


def test_each_request_has_the_kind_that_was_seen_last() -> None:
    kinds = with_kind(with_kind((), known("", PLAIN)), known("GPUs", WITH_GPU))
    assert (kind_for(kinds, ""), kind_for(kinds, "GPUs"), kind_for(kinds, "other")) == (PLAIN, WITH_GPU, None)
    kinds = with_kind(kinds, known("", WITH_GPU))
    assert [each.request for each in kinds] == ["GPUs", ""]
    assert kind_for(without_request(kinds, ""), "") is None


def test_only_the_latest_kinds_are_kept() -> None:
    kinds: tuple[KnownKind, ...] = ()
    for number in range(30):
        kinds = with_kind(kinds, known(str(number), PLAIN))
    assert [each.request for each in kinds] == [str(number) for number in range(10, 30)]


def test_a_kind_survives_storage() -> None:
    kind = NodeKind("x86_64", "2.36", True, "12.4", True, "podman", {"/usr/bin/python3.11": "3.11.2"}, True)
    assert from_json(KnownKind, to_json(known("GPUs", kind)), strict=True) == known("GPUs", kind)
    assert kind.check() == kind


@pytest.mark.parametrize(
    "wrong",
    [
        NodeKind("x86_64 --index-url=http://evil"),
        NodeKind(""),
        NodeKind("x86_64", libc="--no-index"),
        NodeKind("x86_64", cuda="twelve"),
        NodeKind("x86_64", containers="a b"),
        NodeKind("x86_64", pythons={"/p": "3.11; rm"}),
    ],
)
def test_values_that_no_machine_has_are_refused(wrong: NodeKind) -> None:
    with pytest.raises(InvalidInput, match="a node describes itself"):
        wrong.check()


def test_a_kind_in_words() -> None:
    assert describe(summarize(WITH_GPU)) == "x86_64, glibc 2.28, with GPUs"
    assert describe(summarize(NodeKind("aarch64"))) == "aarch64, another C library than glibc, without GPUs"
