"""The attention that is read equals transformers' own eager maps, whatever the batch."""

import weakref

import numpy as np
import pytest
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel

from probe.measures.pairs import DIFFERENT, SAME, pair_states
from probe.measures.sums import load_sums, save_sums
from probe.models.examination import examined
from probe.models.interface import IMPLEMENTATION
from probe.models.loading import load_model
from probe.models.sources import find_model
from probe.statistics.bootstrap import draw_weights, resample_documents
from probe.statistics.estimate import interval
from probe.text.passages import pack
from tests.measures.eager import Found, literal, read
from tests.tiny import FAMILIES

CAUSAL = {"gpt2", "llama", "mistral", "qwen2", "opt", "gemma2"}
CASES = [*FAMILIES, *(f"{family}:{part}" for family in ("bart", "mbart", "t5") for part in ("decoder", "cross"))]


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_sums_equal_those_of_eager_maps_in_padded_batches(case, tiny_models, request):
    family, _, attention = request.node.callspec.params["case"].partition(":")
    causal = attention == "decoder" or family in CAUSAL
    expected = literal(case, str(tiny_models(family)), attention or "encoder", causal)
    layers, documents, counts, vectors, occurrences, maps = expected
    lengths = case.maker().lengths
    assert lengths.min() < lengths.max() and len(documents) > 3
    found = case.sums([np.arange(len(case.passages))])  # one batch: every shorter passage is padded
    # ALBERT's layers are one module, and counted as often as it runs.
    assert found.layers.shape[:2] == (2 if attention else 3, 4)
    assert counts.sum(axis=0).min() >= 8
    np.testing.assert_allclose(case.classes(found.layers), layers, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(case.classes(found.documents), documents, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(case.classes(found.document_pairs), counts)
    np.testing.assert_array_equal(found.occurrences, occurrences)
    np.testing.assert_allclose(found.vectors, vectors, rtol=1e-4, atol=1e-4)
    for passage in maps:
        # Mass balance: debiased attention averages 1/100 over every passage, or over every row where it is causal.
        length = passage.shape[-1]
        seen = np.arange(1, length + 1) if causal else np.full(length, length)
        debiased = passage * seen[:, None] / 100
        np.testing.assert_allclose(debiased.sum(axis=-1) / seen, 1 / 100, rtol=1e-5)


@pytest.mark.parametrize("case", ["bert", "roberta"], indirect=True)
def test_batch_size_padding_order_and_parts_change_nothing(case, tmp_path):
    everything = np.arange(len(case.passages))
    lengths = case.maker().lengths
    whole = case.sums([everything])
    ways = {
        "one by one": [everything[i : i + 1] for i in everything],
        "packed by length": pack(lengths, 200),
        "shuffled": np.array_split(np.random.default_rng(0).permutation(everything), 4),
    }
    for batches in ways.values():
        _assert_equal(case.sums(batches), whole)
    batches = ways["packed by length"]
    half = case.sums(batches[: len(batches) // 2])
    save_sums(tmp_path / "half.npz", half.whole)
    resumed = case.sums(batches, start=load_sums(tmp_path / "half.npz"))
    straight = case.sums(batches)
    for name, array in straight.items():
        np.testing.assert_array_equal(getattr(resumed, name), array)


def _assert_equal(found: Found, expected: Found) -> None:
    for name, array in expected.items():
        np.testing.assert_allclose(getattr(found, name), array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["bert"], indirect=True)
def test_table_of_pairs_adds_up_to_the_class_sums(case):
    found = case.sums([np.arange(len(case.passages))])
    size = len(case.pairs)
    square = np.zeros((size, size))
    square[np.tril_indices(size, -1)] = found.table
    for one in case.labelled:
        states = pair_states(one.assignment, case.pairs.surface[one.position])
        part = (square + square.T)[np.ix_(one.position, one.position)]
        sums = case.pairs.classes(found.documents, one.assignment).sum(axis=0)
        for expected, state in zip(sums, (SAME, DIFFERENT), strict=True):
            assert part[states == state].sum() / 2 == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("case", ["bert", "t5", "modernbert", "llama"], indirect=True)
def test_an_sdpa_that_does_not_tell_its_log_sums_gives_the_same(case):
    everything = [np.arange(len(case.passages))]
    expected = case.sums(everything)
    with sdpa_kernel(SDPBackend.MATH):
        _assert_equal(case.sums(everything), expected)


@pytest.mark.parametrize("case", ["minilm"], indirect=True)
def test_bfloat16_shifts_the_ratio_by_less_than_a_tenth_of_its_interval(case):
    """A trained model; its softmax and sums are in float32 all the same."""

    def ratio(model):
        sums = read(model, case.maker(), batches, case.pairs)
        widest = case.labelled[2].assignment
        parts = [case.pairs.classes(part, widest) for part in (sums.documents, sums.document_pairs)]
        draws = resample_documents(*parts, draw_weights(len(parts[0]), 200, 0))
        same, different = parts[0].sum(0) / parts[1].sum(0)
        return same / different, interval(draws[:, 0] / draws[:, 1])

    batches = pack(case.maker().lengths, 2048)
    exact, (low, high) = ratio(case.model)
    rounded, _ = ratio(load_model(find_model("minilm"), dtype="bfloat16"))
    assert low < exact < high
    assert 0 < abs(rounded - exact) < (high - low) / 10


@pytest.mark.parametrize("case", ["bert"], indirect=True)
def test_a_model_spread_over_several_places_gives_the_same(case, tmp_path):
    """Accelerate's hooks bring a layer from disk when it runs, as they move from GPU to GPU."""
    places = dict.fromkeys(("embeddings", "encoder.layer.0", "encoder.layer.1", "pooler"), "cpu")
    everything = [np.arange(len(case.passages))]
    expected = case.sums(everything)
    module = transformers.AutoModel.from_pretrained(
        case.model.name,
        device_map=places | {"encoder.layer.2": "disk"},
        offload_folder=tmp_path,
        attn_implementation=IMPLEMENTATION,
    )
    assert any(parameter.device.type == "meta" for parameter in module.parameters())
    spread = examined(case.model.name, "pretrained", module.eval(), case.model.family, "encoder")
    _assert_equal(read(spread, case.maker(), everything, case.pairs), expected)
    for weights in ("pretrained", "random"):
        source = find_model(case.model.name)
        one, other = (load_model(source, weights, device=device) for device in ("cpu", "spread"))
        sums = (read(model, case.maker(), everything, case.pairs) for model in (one, other))
        _assert_equal(*sums)


@pytest.mark.parametrize("case", ["bert"], indirect=True)
def test_passages_read_in_parts_give_the_same(case, monkeypatch):
    everything = [np.arange(len(case.passages))]
    expected = case.sums(everything)
    monkeypatch.setattr("probe.measures.attention._SCORES", 1)
    _assert_equal(case.sums(everything), expected)


@pytest.mark.parametrize("case", ["bert", "deberta-v2", "gpt2"], indirect=True)
def test_a_model_left_in_training_mode_is_not_measured_with_dropout(case):
    everything = [np.arange(len(case.passages))]
    expected = case.sums(everything)
    case.model.module.train()
    assert case.model.module.config.to_dict().get("attention_probs_dropout_prob", 0.1) > 0
    _assert_equal(case.sums(everything), expected)


@pytest.mark.parametrize("case", ["deberta-v2"], indirect=True)
def test_one_eager_map_is_held_at_a_time(case):
    held = []

    def hear(layer, one):
        held.append(weakref.ref(one.attention))
        assert sum(reference() is not None for reference in held) == 1

    batch = case.maker()(np.arange(4))
    case.model.listen(batch.input_ids, batch.attention_mask, hear)
    assert len(held) == 3


@pytest.mark.parametrize("case", ["bert"], indirect=True)
def test_attention_by_distance_is_the_same_attention(case):
    found = case.sums([np.arange(len(case.passages))])
    np.testing.assert_allclose(found.distances.sum(axis=(0, 1)), found.documents.sum(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(found.distance_pairs.sum(axis=(0, 1)), found.document_pairs.sum(axis=0))
    widest = case.labelled[3]
    states = np.zeros((len(case.pairs), len(case.pairs)), dtype=int)
    states[np.ix_(widest.position, widest.position)] = pair_states(
        widest.assignment, case.pairs.surface[widest.position]
    )
    expected = np.zeros((found.distance_pairs.shape[1], 2), dtype=int)
    place = {word: index for index, word in enumerate(case.pairs.words)}
    for start, stop in zip(case.passages.start, case.passages.stop, strict=True):
        here = [
            (at, place[token])
            for at, (token, is_word) in enumerate(
                zip(case.tokens.ids[start:stop], case.tokens.is_word[start:stop], strict=True)
            )
            if is_word and token in place
        ]
        for i, first in here:
            for j, second in here:
                if i != j:
                    state = states[first, second]
                    expected[min(int(np.log2(abs(i - j))), 9)] += (state == SAME, state == DIFFERENT)
    found_pairs = case.pairs.classes(found.distance_pairs, widest.assignment)
    np.testing.assert_array_equal(found_pairs.sum(axis=0), expected)
