"""`examples.json`: attention written as text comes back to within its steps; a damaged file is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.results.examples import FILE, coded, decoded, read_examples, write_examples


@given(st.lists(st.floats(0, 2800), min_size=1, max_size=20))
def test_what_is_coded_comes_back_to_within_nine_percent(values):
    found = decoded(coded(np.array(values)))
    for value, back in zip(values, found, strict=True):
        if value >= 2**-4:
            assert abs(np.log2(back / value)) <= 1 / 8 + 1e-9
        else:
            assert back <= 2**-4


def test_none_and_more_than_the_most_are_written():
    assert coded(np.array([np.nan, 0.0])) == "AA"
    assert decoded(coded(np.array([1e9])))[0] > 2800


def test_it_is_read_as_it_was_written_and_refused_where_damaged(tmp_path):
    assert read_examples(tmp_path) is None
    write_examples(tmp_path, {"models": [{"words": ["日本", "</script>"]}]})
    assert read_examples(tmp_path)["models"] == [{"words": ["日本", "</script>"]}]
    for content in ("{", "[]", '{"format": 99}'):
        (tmp_path / FILE).write_text(content)
        with pytest.raises(ProbeError, match="repeat its run"):
            read_examples(tmp_path)
