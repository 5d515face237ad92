"""The words of `footplate compute add`."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.cli.compute.adding import split_words
from footplate.cli.main import Unusable


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["slurm", "gpu"], {}),
        (["slurm", "--partition", "a", "gpu"], {"partition": "a"}),
        (["slurm", "gpu", "--time-limit=2:00:00"], {"time_limit": "2:00:00"}),
        (["slurm", "gpu", "--nice", "-5"], {"nice": -5}),
        (["slurm", "gpu", "--line", "--x=a", "--line=b"], None),
        (["slurm", "gpu", "--line=--x", "--line", "b", "--line", "c"], {"line": ["--x", "b", "c"]}),
    ],
)
def test_options_of_engines_stand_anywhere(words: list[str], flags: dict[str, Any] | None) -> None:
    if flags is None:
        with pytest.raises(Unusable, match="--line has no value"):
            split_words(words)
    else:
        assert split_words(words) == (("slurm", "gpu"), flags)


@pytest.mark.parametrize("words", [[], ["slurm"], ["slurm", "a", "b"], ["slurm", "a", "--partition"]])
def test_missing_and_extra_words_are_refused(words: list[str]) -> None:
    with pytest.raises(Unusable):
        split_words(words)
