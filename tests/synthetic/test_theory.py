import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.synthetic import theory, verification
from probe.synthetic.topic_model import Masking, TopicModel

MODEL = TopicModel(topics=10, words_per_topic=10, topics_per_document=3)
MASKING = Masking(0.15, 0.1, 0.1)

models = st.integers(2, 6).flatmap(
    lambda topics: st.builds(
        TopicModel,
        topics=st.just(topics),
        words_per_topic=st.integers(2, 5),
        topics_per_document=st.integers(1, topics - 1),
    )
)
maskings = st.builds(
    Masking,
    p_mask=st.floats(0.05, 0.6),
    p_correct=st.floats(0.0, 0.45),
    p_random=st.floats(0.0, 0.45),
)


def test_theorem_2_at_the_papers_setting() -> None:
    optimum = theory.theorem2(MODEL, MASKING)
    assert optimum.mask_column == pytest.approx(0.0541907514, abs=1e-10)
    assert optimum.same_topic == pytest.approx(0.1080202312, abs=1e-10)
    assert optimum.different_topic == pytest.approx(-0.0075867052, abs=1e-10)


@settings(max_examples=30, deadline=None)
@given(models, maskings)
def test_theorem_2_is_the_minimum_norm_least_squares_solution(model: TopicModel, masking: Masking) -> None:
    found = verification.least_squares_value(model, masking)
    np.testing.assert_allclose(found, theory.theorem2(model, masking).matrix(model), atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(models, maskings, st.integers(0, 1000))
def test_lemma_1_describes_every_least_squares_solution_and_nothing_else(
    model: TopicModel, masking: Masking, seed: int
) -> None:
    labels = verification.exact_documents(model)
    inputs = verification.mask_exactly(labels, masking)
    random = np.random.default_rng(seed)
    some = random.normal(size=(model.vocabulary, model.vocabulary))
    # Any solution is the minimum-norm one plus something that sees no document.
    solution = verification.least_squares_value(model, masking) + some @ (
        np.eye(model.vocabulary) - np.linalg.pinv(inputs, rcond=1e-9) @ inputs
    )
    np.testing.assert_allclose(inputs @ solution.T, labels, atol=1e-8)
    assert theory.optimality_violation(solution, model, masking) < 1e-7
    assert theory.optimality_violation(solution + 0.01 * some, model, masking) > 1e-4


@settings(max_examples=20, deadline=None)
@given(models, maskings)
def test_theorem_1s_embedding_predicts_exact_documents_without_error(model: TopicModel, masking: Masking) -> None:
    labels = verification.exact_documents(model)
    inputs = verification.mask_exactly(labels, masking)
    product = np.eye(model.vocabulary) / theory.kept_share(masking)
    product[0, 0] = 0.0
    assert theory.optimality_violation(product, model, masking, prediction_bias=True) < 1e-12
    predicted = inputs @ product.T + theory.theorem1_bias(model, masking)
    np.testing.assert_allclose(predicted, labels, atol=1e-12)


def test_the_embedding_gap_separates_block_means_of_any_optimum() -> None:
    gap = theory.embedding_gap(MODEL, MASKING)
    assert gap == pytest.approx(1 / (10 * (1 - 0.9 * 0.15)))
    for value in (
        theory.theorem2(MODEL, MASKING).matrix(MODEL),
        theory.diagonal_value(MODEL, MASKING),
        verification.least_squares_value(MODEL, MASKING),
    ):
        topic = MODEL.topic_of_token[1:]
        same = topic[:, None] == topic[None, :]
        words = value[1:, 1:]
        assert words[same].mean() - words[~same].mean() == pytest.approx(gap, abs=1e-12)


def test_theorem_2_is_the_limit_of_long_documents_and_mild_regularization() -> None:
    long = TopicModel(topics_per_document=3, lengths=(10**7, 10**7))
    found = verification.finite_length_value(long, MASKING, l2=1e-6)
    np.testing.assert_allclose(found, theory.theorem2(MODEL, MASKING).matrix(MODEL), atol=5e-4)


def test_the_masking_propositions_hold_in_a_simulated_document() -> None:
    shares = theory.proposition1(MODEL, MASKING)
    found = verification.simulated_shares(MODEL, MASKING, length=10**6, random_state=0)
    assert found.present == pytest.approx(shares.present, rel=0.005)
    assert found.absent == pytest.approx(shares.absent, rel=0.05)
    assert found.mask == pytest.approx(shares.mask, rel=0.01)


@pytest.mark.parametrize(("keys", "hide"), [("printed", True), ("attended", False)])
def test_proposition_2_holds_as_printed_only_when_mask_takes_no_attention(keys: str, hide: bool) -> None:
    z = theory.proposition2(2.0, 7.0, MODEL, MASKING, keys)  # type: ignore[arg-type]
    found = verification.simulated_normalizers(2.0, 7.0, MODEL, MASKING, 10**6, random_state=0, hide_mask=hide)
    np.testing.assert_allclose(found, [float(entry) for entry in z], rtol=0.005)
    other = verification.simulated_normalizers(2.0, 7.0, MODEL, MASKING, 10**6, random_state=0, hide_mask=not hide)
    assert abs(other[0] - float(z[0])) > 0.1


@settings(max_examples=25, deadline=None)
@given(
    models,
    maskings,
    st.floats(0, 30),
    st.floats(0, 30),
    st.sampled_from(["block", "diagonal"]),
    st.sampled_from(["attended", "hidden"]),
)
def test_the_attention_loss_agrees_with_its_literal_sum(
    model: TopicModel, masking: Masking, alpha: float, beta: float, value: str, keys: str
) -> None:
    matrix = (
        theory.theorem2(model, masking).matrix(model) if value == "block" else theory.diagonal_value(model, masking)
    )
    fast = theory.attention_loss(alpha, beta, model, masking, value, keys)  # type: ignore[arg-type]
    slow = verification.literal_attention_loss(alpha, beta, model, masking, matrix, keys)  # type: ignore[arg-type]
    assert float(fast) == pytest.approx(slow, rel=1e-9, abs=1e-12)


def test_under_block_values_only_gamma_matters() -> None:
    v, gamma = 10, 6.0
    beta = np.linspace(0, v * gamma, 7)
    alpha = (gamma - beta / v) * v / (v - 1)
    losses = theory.attention_loss(alpha, beta, MODEL, MASKING, "block")
    np.testing.assert_allclose(losses, losses[0], rtol=1e-12)


@pytest.mark.parametrize("keys", ["attended", "hidden", "printed"])
@pytest.mark.parametrize(("topics", "tau"), [(1000, 5), (1000, 30), (30_000, 40)])
def test_the_numeric_optimum_lies_within_theorems_3_and_5(topics: int, tau: int, keys: str) -> None:
    model = TopicModel(topics=topics, words_per_topic=30, topics_per_document=tau)
    block = verification.best_attention(model, MASKING, "block", keys)  # type: ignore[arg-type]
    assert block.gamma in theory.theorem3(model, MASKING)
    assert block.gamma in theory.theorem3(model, MASKING, from_proof=True)
    diagonal = verification.best_attention(model, MASKING, "diagonal", keys)  # type: ignore[arg-type]
    bounds = theory.theorem5(model, MASKING)
    assert diagonal.beta in bounds.beta
    assert diagonal.alpha < bounds.alpha_over_beta * diagonal.beta


def test_the_statement_of_theorem_3_prints_a_larger_lower_constant_than_its_proof_derives() -> None:
    c4, noise = 1 / theory.kept_share(MASKING), 0.15 * 0.1
    derived = (1 + c4 * noise) * (2 - c4) / (2 * c4)
    assert theory.theorem3(MODEL, MASKING, from_proof=True).low == pytest.approx(derived * 2)
    assert theory.theorem3(MODEL, MASKING).low == pytest.approx(0.57734104 * 2)


def test_numbers_the_theorems_do_not_cover_are_refused() -> None:
    with pytest.raises(ProbeError):
        theory.theorem5(TopicModel(words_per_topic=3, topics_per_document=2), MASKING)
    with pytest.raises(ProbeError):
        theory.theorem3(TopicModel(), MASKING)
    with pytest.raises(ProbeError):
        verification.least_squares_value(TopicModel(topics_per_document=10), MASKING)
    with pytest.raises(ProbeError):
        theory.optimality_violation(np.eye(3), MODEL, MASKING)
