"""Samples of the machine while a run is active."""

from __future__ import annotations

from pathlib import Path

import psutil

from footplate.job.journal_format import Decoder, everything, read_text
from footplate.node.sampler import Sampler


def sampled(folder: Path) -> dict[str, float]:
    text = str(folder / "node_0.text")
    decoder = Decoder(lambda at, size: read_text(text, at, size))
    return {point.name: point.value for point in decoder.feed(everything(str(folder / "node_0.slots"), 0))}


def test_counters_start_with_the_run_and_not_with_the_machine(tmp_path: Path):
    before = psutil.net_io_counters()
    sampler = Sampler(str(tmp_path), 0, str(tmp_path), gpus=[])
    sampler.start()
    sampler.stop()
    passed = psutil.net_io_counters().bytes_recv - before.bytes_recv
    assert before.bytes_recv > 0
    assert 0 <= sampled(tmp_path)["system/node_0/network_received_bytes"] <= passed
