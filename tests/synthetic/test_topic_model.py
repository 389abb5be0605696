import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.synthetic.topic_model import MASK, Documents, Masking, TopicModel, mask_documents


def test_every_document_holds_words_of_exactly_tau_topics() -> None:
    model = TopicModel(topics=6, words_per_topic=3, topics_per_document=2, lengths=(60, 80))
    documents = model.sample(1000, random_state=0)
    topic = model.topic_of_token
    assert {len(set(topic[documents[i]])) for i in range(1000)} == {2}
    counts = np.bincount(documents.tokens, minlength=model.vocabulary)
    assert counts[MASK] == 0
    np.testing.assert_allclose(counts[1:] / counts.sum(), 1 / 18, rtol=0.12)


def test_dirichlet_documents_have_the_lengths_and_the_topic_spread_of_section_6_1() -> None:
    model = TopicModel()
    documents = model.sample(3000, random_state=1)
    assert (documents.lengths.min(), documents.lengths.max()) == (100, 150)
    assert documents.lengths.mean() == pytest.approx(125, abs=1)
    document = np.repeat(np.arange(3000), documents.lengths)
    topic = model.topic_of_token[documents.tokens]
    shares = np.bincount(document * 10 + topic, minlength=30000).reshape(3000, 10) / documents.lengths[:, None]
    # Var of one share under Dirichlet(0.1, ..., 0.1): 0.1 · 0.9 / 2, plus the multinomial's share of it.
    assert shares.var(axis=0).mean() == pytest.approx(0.045, rel=0.05)
    assert 2 <= np.median((shares > 0.05).sum(axis=1)) <= 4


def test_masked_positions_follow_the_three_probabilities() -> None:
    model = TopicModel()
    documents = model.sample(4000, random_state=2)
    masked = mask_documents(documents, Masking(0.2, 0.3, 0.25), random_state=3)
    assert masked.predicted.mean() == pytest.approx(0.2, abs=0.003)
    shown, was = masked.tokens[masked.predicted], documents.tokens[masked.predicted]
    assert (shown == MASK).mean() == pytest.approx(0.45, abs=0.006)
    assert (shown == was).mean() == pytest.approx(0.3 + 0.25 / 100, abs=0.006)
    np.testing.assert_array_equal(masked.tokens[~masked.predicted], documents.tokens[~masked.predicted])


def test_a_document_always_has_a_predicted_position() -> None:
    documents = TopicModel(lengths=(1, 2)).sample(500, random_state=0)
    masked = mask_documents(documents, Masking(p_mask=0.05), random_state=0)
    assert np.bincount(masked.document, weights=masked.predicted).min() >= 1
    rare = mask_documents(TopicModel(lengths=(100, 100)).sample(2000, 0), Masking(p_mask=1e-9), random_state=0)
    np.testing.assert_array_equal(np.bincount(rare.document, weights=rare.predicted), 1)
    where = np.flatnonzero(rare.predicted) % 100
    assert where.mean() == pytest.approx(49.5, abs=3)


def test_a_first_empty_set_is_drawn_again_as_if_by_trying() -> None:
    documents = TopicModel(lengths=(3, 3)).sample(60_000, random_state=0)
    masked = mask_documents(documents, Masking(p_mask=0.2), random_state=1)
    sets = masked.predicted.reshape(-1, 3) @ [1, 2, 4]
    found = np.bincount(sets, minlength=8) / 60_000
    size = np.array([0, 1, 1, 2, 1, 2, 2, 3])
    expected = 0.2**size * 0.8 ** (3 - size) * (size > 0) / (1 - 0.8**3)
    np.testing.assert_allclose(found, expected, atol=0.008)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_counts_agree_with_counting_token_by_token(seed: int) -> None:
    documents = TopicModel(topics=3, words_per_topic=2, lengths=(1, 9)).sample(5, random_state=seed)
    masked = mask_documents(documents, Masking(0.5), random_state=seed)
    literal = np.zeros((5, 7), dtype=int)
    visible = np.zeros((5, 7), dtype=int)
    position = 0
    for index, length in enumerate(documents.lengths):
        for _ in range(length):
            literal[index, masked.tokens[position]] += 1
            visible[index, masked.tokens[position]] += not masked.predicted[position]
            position += 1
    np.testing.assert_array_equal(masked.counts(), literal)
    np.testing.assert_array_equal(masked.counts(visible_only=True), visible)


def test_the_released_format_survives_a_round_trip(tmp_path: Path) -> None:
    model = TopicModel()
    documents = model.sample(20, random_state=5)
    documents.write(tmp_path / "train")
    first = (tmp_path / "train").read_text().splitlines()[0].split()
    assert first[-1] == "END"
    assert int(first[0]) == documents[0][0] - 1
    again = Documents.read(tmp_path / "train", model.vocabulary)
    np.testing.assert_array_equal(again.tokens, documents.tokens)
    np.testing.assert_array_equal(again.lengths, documents.lengths)


def test_ten_thousand_documents_take_less_than_two_seconds() -> None:
    start = time.process_time()
    documents = TopicModel().sample(10_000, random_state=0)
    mask_documents(documents, Masking(), random_state=0)
    assert time.process_time() - start < 2


def test_the_same_seed_gives_the_same_documents() -> None:
    model = TopicModel(topics_per_document=3)
    np.testing.assert_array_equal(model.sample(50, 7).tokens, model.sample(50, 7).tokens)
    assert not np.array_equal(model.sample(50, 7).tokens[:100], model.sample(50, 8).tokens[:100])


@pytest.mark.parametrize(
    "arguments",
    [
        {"topics_per_document": 11},
        {"topics_per_document": 0},
        {"words_per_topic": 1},
        {"topics": 1},
        {"alpha": 0.0},
        {"alpha": float("nan")},
        {"lengths": (150, 100)},
    ],
)
def test_a_topic_model_that_cannot_be_is_refused_in_one_sentence(arguments: dict) -> None:
    with pytest.raises(ProbeError) as refusal:
        TopicModel(**arguments)
    assert str(refusal.value).count(". ") == 0


@pytest.mark.parametrize("probabilities", [(0, 0.1, 0.1), (1, 0.1, 0.1), (0.15, 0.6, 0.4), (0.15, -0.1, 0.1)])
def test_probabilities_that_do_not_add_up_are_refused(probabilities: tuple) -> None:
    with pytest.raises(ProbeError):
        Masking(*probabilities)


@pytest.mark.parametrize("text", ["", "1 2 3\n", "1 x END\n", "1 100 END\n", "END\n"])
def test_a_file_in_another_format_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ProbeError):
        Documents.read(tmp_path / "bad", 101)
