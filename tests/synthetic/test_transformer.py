from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.synthetic import measures
from probe.synthetic.batches import make_batch
from probe.synthetic.topic_model import Masking, TopicModel, mask_documents
from probe.synthetic.training import prediction_loss
from probe.synthetic.transformer import (
    Architecture,
    Initialization,
    forward,
    initial_parameters,
    literal_forward,
)

MODEL = TopicModel(topics=3, words_per_topic=3, lengths=(6, 12))
MASKING = Masking(0.3, 0.3, 0.3)
WIDE = Initialization(scale=1.0, embedding_scale=0.7)

architectures = st.one_of(
    st.builds(
        Architecture,
        attention=st.sampled_from(["trained", "uniform"]),
        head=st.sampled_from(["tied", "free"]),
        prediction_bias=st.sampled_from(["trained", "zero", "theorem1"]),
        biases=st.booleans(),
        layers=st.sampled_from([1, 2]),
        attend_masked=st.booleans(),
    ),
    st.builds(
        Architecture,
        embedding=st.just("trained"),
        attention=st.sampled_from(["trained", "uniform"]),
        head=st.sampled_from(["tied", "free"]),
        prediction_bias=st.sampled_from(["trained", "zero", "theorem1"]),
        layers=st.sampled_from([1, 3]),
        width=st.sampled_from([None, 5]),
    ),
    st.builds(
        Architecture,
        value=st.sampled_from(["identity", "block", "theorem2", "diagonal"]),
        head=st.sampled_from(["identity", "tied"]),
    ),
)


def randomized(architecture: Architecture, seeds: list[int]) -> dict[str, torch.Tensor]:
    parameters, _ = initial_parameters(architecture, WIDE, MODEL, MASKING, seeds)
    generator = torch.Generator().manual_seed(seeds[0])
    for name, tensor in parameters.items():
        if "bias" in name:
            parameters[name] = torch.randn(tensor.shape, generator=generator)
    return parameters


@settings(max_examples=40, deadline=None)
@given(architectures, st.integers(0, 1000))
def test_counting_tokens_gives_the_loss_of_equation_6_position_by_position(
    architecture: Architecture, seed: int
) -> None:
    parameters = randomized(architecture, [seed, seed + 1])
    masked = mask_documents(MODEL.sample(4, seed), MASKING, seed)
    if not architecture.attend_masked and not masked.counts(visible_only=True).sum(1).all():
        return
    batch = make_batch([masked], architecture)
    for loss in ("cross-entropy", "squared"):
        fast = prediction_loss(forward(architecture, parameters, batch), batch.targets.repeat_interleave(2, 0), loss)
        for run in range(2):
            slow, ends = 0.0, np.cumsum(masked.original.lengths)
            for end, length in zip(ends, masked.original.lengths, strict=True):
                span = slice(end - length, end)
                predicted = np.flatnonzero(masked.predicted[span])
                visible = None if architecture.attend_masked else torch.tensor(~masked.predicted[span])
                tokens = torch.tensor(masked.tokens[span])
                output, _ = literal_forward(architecture, parameters, run, tokens, visible)
                for position in predicted:
                    label = int(masked.original.tokens[span][position])
                    column = output[:, position]
                    one_hot = torch.eye(MODEL.vocabulary)[label]
                    if loss == "squared":
                        each = ((column - one_hot) ** 2).sum()
                    else:
                        each = -torch.log_softmax(column, 0)[label]
                    slow += float(each) / len(predicted) / 4
            assert float(fast[run]) == pytest.approx(slow, rel=2e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.booleans(), st.booleans())
def test_attention_by_class_agrees_with_reading_the_maps(
    seed: int, attend_masked: bool, exclude_self: bool, shifted: bool
) -> None:
    architecture = Architecture(attend_masked=attend_masked)
    parameters = randomized(architecture, [seed, seed + 7])
    masked = mask_documents(MODEL.sample(3, seed), MASKING, seed)
    if not masked.counts(visible_only=True).sum(1).all():
        return
    labels = np.roll(MODEL.topic_of_token, 2) if shifted else MODEL.topic_of_token
    arguments = (architecture, parameters, masked, labels, exclude_self)
    fast = measures.attention_by_class(*arguments)
    slow = measures.literal_attention_by_class(*arguments)
    np.testing.assert_array_equal(fast.pairs, slow.pairs)
    np.testing.assert_allclose(fast.sums, slow.sums, rtol=1e-4, atol=1e-6)


def test_uniform_attention_is_one_hundredth_in_every_class() -> None:
    architecture = Architecture(attention="uniform")
    parameters, _ = initial_parameters(architecture, WIDE, MODEL, MASKING, [0])
    masked = mask_documents(MODEL.sample(50, 0), MASKING, 0)
    means = measures.attention_by_class(architecture, parameters, masked, MODEL.topic_of_token).means
    np.testing.assert_allclose(means, 0.01)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 2), st.floats(-1, 2))
def test_value_scores_agree_with_adding_entries_up(seed: int, block: float, diagonal: float) -> None:
    labels = MODEL.topic_of_token
    value = np.random.default_rng(seed).normal(size=(2, 10, 10))
    value += block * (labels[:, None] == labels[None, :]) + diagonal * np.eye(10)
    scores = measures.value_scores(value, labels)
    for run in range(2):
        slow = measures.literal_value_scores(value[run], labels)
        assert (scores.block_score[run], scores.diagonal_score[run]) == pytest.approx(slow, abs=1e-12)


def test_scores_of_the_two_pure_patterns() -> None:
    labels = MODEL.topic_of_token
    block = (labels[:, None] == labels[None, :]).astype(float)
    scores = measures.value_scores(np.stack([block, np.eye(10)]), labels)
    np.testing.assert_allclose(scores.block_score, [1, 0])
    np.testing.assert_allclose(scores.diagonal_score, [0, 1])


def test_a_run_starts_from_its_own_seed_alone() -> None:
    together, _ = initial_parameters(Architecture(), Initialization(), MODEL, MASKING, [4, 9])
    alone, _ = initial_parameters(Architecture(), Initialization(), MODEL, MASKING, [9])
    torch.testing.assert_close(together["key.0"][1], alone["key.0"][0])


def test_frozen_parts_are_what_they_say() -> None:
    parameters, trained = initial_parameters(
        Architecture(value="block", attention="trained", biases=False), Initialization(), MODEL, MASKING, [0]
    )
    value = parameters["value.0"][0]
    assert trained == {"key.0", "query.0"}
    assert value[0].sum() == value[:, 0].sum() == 0
    assert value[1:, 1:].sum() == 3 * 9


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 0},
        {"width": 5},
        {"embedding": "trained", "width": 5, "value": "block"},
        {"attention": "uniform", "value": "block"},
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict) -> None:
    with pytest.raises(ProbeError):
        replace(Architecture(), **change)


def test_a_negative_initialization_scale_is_refused() -> None:
    with pytest.raises(ProbeError):
        Initialization(scale=-1.0)
