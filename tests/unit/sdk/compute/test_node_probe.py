"""The probe of `footplate compute check`, on this machine."""

from __future__ import annotations

from pathlib import Path

from footplate.sdk.compute import node_probe


def test_an_exception_is_a_finding_and_the_next_check_runs() -> None:
    def breaks() -> node_probe.Finding:
        raise ValueError("broken")

    found = list(node_probe.examine({"a": breaks, "b": lambda: ("ok", "fine")}))
    assert [(each["state"], each["message"]) for each in found] == [("fail", "ValueError: broken"), ("ok", "fine")]


def test_a_shared_directory_must_exist_and_be_writable(tmp_path: Path) -> None:
    assert node_probe.check_shared(str(tmp_path)) == ("ok", str(tmp_path))
    assert node_probe.check_shared(str(tmp_path / "gone"))[0] == "fail"
