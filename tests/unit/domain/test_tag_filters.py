from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.text import label_filter, parse_label_filter


@given(st.text(alphabet=st.sampled_from("%=235Dab"), min_size=1), st.none() | st.text(alphabet="%=2D"))
def test_every_key_and_value_can_be_queried(key, value):
    assert parse_label_filter(label_filter(key, value)) == (key, value)


def test_ordinary_keys_are_written_unchanged():
    assert label_filter("team") == "team"
    assert label_filter("team", "a=b%") == "team=a=b%"
    assert parse_label_filter("100% sure=yes") == ("100% sure", "yes")
