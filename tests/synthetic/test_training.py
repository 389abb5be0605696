import numpy as np
import pytest
import torch

from probe.errors import ProbeError
from probe.synthetic import theory, verification
from probe.synthetic.batches import batches, make_batch
from probe.synthetic.measures import value_scores
from probe.synthetic.runs import Training
from probe.synthetic.topic_model import Documents, Masking, TopicModel, mask_documents
from probe.synthetic.training import train
from probe.synthetic.transformer import Architecture, Initialization

MODEL = TopicModel(topics=4, words_per_topic=3, topics_per_document=2, lengths=(40, 60))
MASKING = Masking()


@pytest.fixture(scope="module")
def data() -> tuple[Documents, Documents]:
    return MODEL.sample(600, 0), MODEL.sample(200, 1)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_run_is_the_same_alone_and_among_others(data: tuple, optimizer: str) -> None:
    settings = {"optimizer": optimizer, "steps": 60, "log_every": 20, "evaluate_every": 20, "l2": 1e-4}
    together = train(
        MODEL, MASKING, Architecture(), Training(seeds=(3, 5), learning_rates=(0.01, 0.1), **settings), *data
    )
    alone = train(MODEL, MASKING, Architecture(), Training(seeds=(5,), learning_rates=(0.1,), **settings), *data)
    assert together.runs[3] == alone.runs[0] == (5, 0.1)
    assert together.development_loss[3] == pytest.approx(alone.development_loss[0], rel=1e-4)
    np.testing.assert_allclose(together.history["norm_key"][:, 3], alone.history["norm_key"][:, 0], rtol=1e-3)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_step_is_that_of_torchs_own_optimizer(data: tuple, optimizer: str) -> None:
    architecture = Architecture(attention="uniform", biases=False)
    training = Training(optimizer=optimizer, learning_rates=(0.05,), steps=25, l2=1e-3, loss="squared")
    ours = train(MODEL, MASKING, architecture, training, *data, Initialization(scale=0.1))
    start, _ = train_start(architecture)
    weight = torch.nn.Parameter(start["value.0"][0].clone())
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    torch_optimizer = kind([weight], lr=0.05)
    stream = batches(data[0], MASKING, training, architecture)
    for _ in range(25):
        batch = next(stream)
        shares = batch.log_counts[0].softmax(-1)[batch.document[0]]
        output, targets = shares @ weight.T, batch.targets[0]
        weights = targets.sum(-1, keepdim=True)
        loss = (weights * output**2 - 2 * targets * output).sum() + 1e-3 * weight.square().sum()
        torch_optimizer.zero_grad()
        loss.backward()
        torch_optimizer.step()
    np.testing.assert_allclose(ours.value()[0], weight.detach().numpy(), atol=2e-5)


def train_start(architecture: Architecture) -> tuple:
    from probe.synthetic.transformer import initial_parameters

    return initial_parameters(architecture, Initialization(scale=0.1), MODEL, MASKING, [0])


def test_the_same_seed_gives_the_same_bits(data: tuple) -> None:
    first, second = (train(MODEL, MASKING, Architecture(), Training(steps=30), *data) for _ in range(2))
    np.testing.assert_array_equal(first.value(), second.value())
    assert not np.array_equal(
        first.value(), train(MODEL, MASKING, Architecture(), Training(steps=30, seeds=(1,)), *data).value()
    )


def test_trained_values_are_theorem_2s_under_uniform_attention() -> None:
    """Long documents and a mild λ, so that neither the finite length nor λ moves the optimum by 5 %."""
    model = TopicModel(topics=3, words_per_topic=2, topics_per_document=1, lengths=(1000, 1000))
    documents, development = model.sample(400, 0), model.sample(20, 1)
    training = Training(loss="squared", optimizer="sgd", learning_rates=(1.0,), l2=1e-3, steps=1000)
    architecture = Architecture(attention="uniform", biases=False)
    result = train(model, MASKING, architecture, training, documents, development, Initialization(scale=0.0))
    found = value_scores(result.value(), model.topic_of_token)
    expected = theory.theorem2(model, MASKING)
    assert found.block_mean[0] == pytest.approx(expected.same_topic, rel=0.05)
    assert found.mask_column[0] == pytest.approx(expected.mask_column, rel=0.05)
    assert found.different_topic[0] == pytest.approx(expected.different_topic, rel=0.05)


def test_trained_values_are_the_finite_length_optimum_at_the_papers_lengths() -> None:
    model = TopicModel(topics=4, words_per_topic=3, topics_per_document=2)
    training = Training(loss="squared", optimizer="sgd", learning_rates=(2.0,), l2=3e-3, steps=1500)
    architecture = Architecture(attention="uniform", biases=False)
    documents = model.sample(3000, 0)
    result = train(model, MASKING, architecture, training, documents, documents, Initialization(scale=0.0))
    found = value_scores(result.value(), model.topic_of_token)
    optimum = value_scores(verification.finite_length_value(model, MASKING, l2=3e-3)[None], model.topic_of_token)
    assert found.block_mean[0] == pytest.approx(optimum.block_mean[0], rel=0.03)
    assert found.diagonal[0] == pytest.approx(optimum.diagonal[0], rel=0.05)


@pytest.mark.parametrize("schedule", ["two-stage", "alternating"])
def test_stages_train_values_and_attention_by_turns(data: tuple, schedule: str) -> None:
    training = Training(schedule=schedule, stage_steps=10, steps=30, log_every=1)  # type: ignore[arg-type]
    history = train(MODEL, MASKING, Architecture(), training, *data).history
    key, value = history["norm_key"][:, 0], history["norm_value"][:, 0]
    assert np.ptp(key[:11]) == 0 < np.ptp(key[11:21])
    assert np.ptp(value[:11]) > 0 == np.ptp(value[10:21])
    assert (np.ptp(value[20:]) > 0) == (schedule == "alternating")


def test_early_stopping_keeps_the_best_weights(data: tuple) -> None:
    training = Training(learning_rates=(0.01, 3.0), steps=400, evaluate_every=20, patience=2)
    result = train(MODEL, MASKING, Architecture(), training, *data)
    assert result.stopped_at[1] < 400
    np.testing.assert_allclose(
        result.development_loss[0],
        result.development_losses[: result.stopped_at[0] // 20 + 1, 0].min(),
    )


def test_static_masks_stay_over_epochs(data: tuple) -> None:
    few = data[0].take(np.arange(40))
    stream = batches(few, MASKING, Training(static_masks=True), Architecture())
    first, second = next(stream), next(stream)
    assert first.targets.sum() == pytest.approx(float(second.targets.sum()))
    np.testing.assert_array_equal(
        np.sort(first.log_counts.exp().sum(1).numpy()), np.sort(second.log_counts.exp().sum(1).numpy())
    )
    fresh = batches(few, MASKING, Training(), Architecture())
    assert not torch.equal(next(fresh).log_counts.exp().sum(1), next(fresh).log_counts.exp().sum(1))


def test_chunks_of_batches_are_the_batches_one_by_one(data: tuple) -> None:
    masked = mask_documents(data[0].take(np.arange(5)), MASKING, 0)
    batch = make_batch([masked], Architecture())
    counts = np.zeros((5, MODEL.vocabulary))
    np.add.at(counts, (masked.document, masked.tokens), 1)
    np.testing.assert_allclose(batch.log_counts[0].exp().numpy(), counts, rtol=1e-6)
    asked = {
        (int(d), int(t))
        for d, t in zip(masked.document[masked.predicted], masked.tokens[masked.predicted], strict=True)
    }
    assert set(zip(batch.document[0].tolist(), batch.token[0].tolist(), strict=True)) == asked
    assert float(batch.targets.sum()) == pytest.approx(1)


@pytest.mark.parametrize(
    "change",
    [
        {"l2": -0.1},
        {"learning_rates": (0.0,)},
        {"learning_rates": ()},
        {"seeds": (1, 1)},
        {"seeds": (-1,)},
        {"steps": 0},
        {"batch_size": 0},
        {"patience": 0},
    ],
)
def test_training_that_trains_nothing_is_refused(change: dict) -> None:
    with pytest.raises(ProbeError):
        Training(**change)


def test_documents_of_another_vocabulary_are_refused(data: tuple) -> None:
    with pytest.raises(ProbeError):
        train(TopicModel(), MASKING, Architecture(), Training(), *data)
