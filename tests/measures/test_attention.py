"""The attention that is read equals transformers' own eager maps, whatever the batch."""

import dataclasses
import itertools
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel

from probe.measures.attention import Attention, attention_sums_literal
from probe.measures.batches import BatchMaker
from probe.measures.cooccurring import TopPairs
from probe.measures.embeddings import Embeddings
from probe.measures.pairs import DIFFERENT, SAME, Labelled, pair_states, topic_pairs
from probe.measures.protocol import Probed
from probe.measures.reading import read_passages
from probe.measures.sums import load_sums, save_sums
from probe.models.examination import examined
from probe.models.interface import IMPLEMENTATION
from probe.models.loading import load_model, load_tokenizer
from probe.models.sources import find_model
from probe.statistics.bootstrap import draw_weights, resample_documents
from probe.statistics.estimate import interval
from probe.text.passages import Passages, SpecialTokens, cut_passages, pack, special_tokens
from probe.text.tokens import Tokens, tokenize
from probe.text.vocabulary import Vocabulary, build_vocabulary
from probe.topics.assignment import KINDS, assign_topics, words_per_topic
from tests.tiny import FAMILIES

MAX_LENGTH = 48
NONE = np.zeros(0, dtype=np.int64)


class Found(SimpleNamespace):
    """The sums of a pass, of both measures together."""

    def __init__(self, sums):
        super().__init__(occurrences=sums.occurrences, whole=sums, **sums.of["attention"], **sums.of["embeddings"])

    def items(self):
        return {name: array for name, array in vars(self).items() if name != "whole"}.items()


def read(model, maker, batches, pairs, **options):
    probed = Probed(pairs, TopPairs(NONE, NONE, NONE), len(maker.probed_documents))
    return Found(read_passages(model, maker, batches, [Embeddings(), Attention()], probed, **options))


@dataclasses.dataclass
class Case:
    model: object
    tokens: Tokens
    passages: Passages
    specials: object
    vocabulary: object
    pairs: object
    labelled: list

    def maker(self, passages=None):
        chosen = self.passages if passages is None else passages
        return BatchMaker(self.tokens, chosen, self.specials, self.pairs.words, len(self.vocabulary))

    def sums(self, batches, **options):
        return read(self.model, self.maker(), batches, self.pairs, **options)

    def classes(self, sums):
        """Same-topic and different-topic sums of every assignment, one after the other."""
        return np.concatenate([self.pairs.classes(sums, one.assignment) for one in self.labelled], axis=-1)


THETAS = (0.15, 0.3)


def _random_topics(n: int, topics: int = 4) -> list[np.ndarray]:
    """Two topic models whose topics share words."""
    return list(np.random.default_rng(3).dirichlet(np.full(n, 0.3), size=(2, topics)))


@pytest.fixture(scope="module")
def case(request, tiny_models, tmp_path_factory, small_corpus):
    """A small model of a family, "FAMILY" or "FAMILY:ATTENTION", and some passages."""
    from corpora import open_corpus

    family, _, attention = request.param.partition(":")
    source = find_model(family if family == "minilm" else str(tiny_models(family)))
    tokenizer = load_tokenizer(source)
    vocabulary = build_vocabulary(tokenizer, {"the", "of", "and"})
    tokens = tokenize(open_corpus(str(small_corpus)), tokenizer, vocabulary, tmp_path_factory.mktemp("tokens"))
    specials = special_tokens(tokenizer)
    passages = cut_passages(tokens, MAX_LENGTH, len(specials))
    # Some of several documents, last (short) passages among them, so that batches are padded.
    last = np.flatnonzero(np.diff(passages.document, append=-1))
    passages = passages[np.unique(np.concatenate([np.arange(0, len(passages), 8), last]))]
    dictionary = np.unique(tokens.ids[np.asarray(tokens.is_word)])
    topic_words = _random_topics(len(dictionary))
    sizes = [words_per_topic(theta, len(dictionary)) for theta in THETAS]
    more = np.random.default_rng(0).choice(dictionary, 5).tolist()
    pairs = topic_pairs(topic_words, [1, 3, *sizes], dictionary, vocabulary, more)
    assignments = [
        assign_topics(topic_word, theta, kind, seed)
        for seed, topic_word in enumerate(topic_words)
        for theta in THETAS
        for kind in KINDS
    ]
    labelled = [Labelled(one, np.searchsorted(pairs.words, dictionary[one.words])) for one in assignments]
    model = load_model(source, attention=attention or "encoder")
    return Case(model, tokens, passages, specials, vocabulary, pairs, labelled)


def _own_outputs(folder: str, attention: str):
    """What transformers' eager implementation gives for one passage: maps, first hidden states, and how far they
    stand after a token's place in the passage (queries, keys)."""
    eager = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    options = {"output_attentions": True, "output_hidden_states": True}

    def run(ids: list[int]):
        ids = torch.tensor([ids])
        more = {"attention_mask": torch.ones_like(ids)}
        with torch.inference_mode():
            if not eager.config.is_encoder_decoder:
                output = eager(ids, **more, **options)
            elif attention == "encoder":
                output = eager.get_encoder()(ids, **more, **options)
            else:
                if hasattr(eager, "_shift_right"):  # BART shifts its input itself
                    more["decoder_input_ids"] = eager._shift_right(ids)
                output = eager(ids, **more, **options)
                maps = output.cross_attentions if attention == "cross" else output.decoder_attentions
                return np.concatenate(maps), output.decoder_hidden_states[0][0].numpy()
        return np.concatenate(output.attentions), output.hidden_states[0][0].numpy()

    shifts = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}[attention]
    return run, shifts


def _literal(case: Case, folder: str, attention: str, causal: bool):
    """Sums from eager maps of one passage at a time, pair by pair."""
    run, shifts = _own_outputs(folder, attention)
    place = {word: index for index, word in enumerate(case.pairs.words)}
    size = len(case.pairs)
    layers, documents, counts, per_passage = 0.0, {}, {}, []
    vectors, occurrences = 0.0, np.zeros(size, dtype=int)
    full = []
    for one in case.labelled:
        states = np.zeros((size, size), dtype=np.uint8)
        states[np.ix_(one.position, one.position)] = pair_states(one.assignment, case.pairs.surface[one.position])
        full.append(states)
    for start, stop, document in zip(case.passages.start, case.passages.stop, case.passages.document, strict=True):
        text = case.tokens.ids[start:stop]
        ids = [*case.specials.before, *text, *case.specials.after]
        maps, hidden = run(ids)
        per_passage.append(maps)
        words = [place.get(t, -1) if w else -1 for t, w in zip(text, case.tokens.is_word[start:stop], strict=True)]
        words = [-1] * len(case.specials.before) + words + [-1] * len(case.specials.after)
        queries, keys = ([-1] * shift + words[: len(words) - shift] for shift in shifts)
        found = [attention_sums_literal(maps, queries, keys, states, causal) for states in full]
        sums = np.concatenate([one for one, _ in found], axis=2)
        layers = layers + sums
        documents[document] = documents.get(document, 0) + sums.mean(axis=(0, 1))
        counts[document] = counts.get(document, 0) + np.concatenate([count for _, count in found])
        here = np.zeros((size, hidden.shape[1]))
        for vector, word in zip(hidden, queries, strict=True):
            if word >= 0:
                here[word] += vector
                occurrences[word] += 1
        vectors = vectors + here
    order = sorted(documents)
    return (
        layers,
        np.array([documents[d] for d in order]),
        np.array([counts[d] for d in order]),
        vectors,
        occurrences,
        per_passage,
    )


CAUSAL = {"gpt2", "llama", "mistral", "qwen2", "opt", "gemma2"}
CASES = [*FAMILIES, *(f"{family}:{part}" for family in ("bart", "mbart", "t5") for part in ("decoder", "cross"))]


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_sums_equal_those_of_eager_maps_in_padded_batches(case, tiny_models, request):
    family, _, attention = request.node.callspec.params["case"].partition(":")
    causal = attention == "decoder" or family in CAUSAL
    expected = _literal(case, str(tiny_models(family)), attention or "encoder", causal)
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


def test_causal_attention_at_random_weights_gives_one_with_the_debias_of_each_row_alone(tmp_path):
    """Documents whose lead keeps to one topic: words of one topic stand early, in rows that see few keys.

    Random weights are not quite uniform, and the same for all documents: a few models miss 1 by more than the
    documents vary, none by a thousandth.
    """
    random = np.random.default_rng(0)
    topic_of_word = np.arange(100) % 10
    documents = []
    for topic in random.integers(10, size=60):
        lead, length = random.integers(4, 33), random.integers(40, 65)
        words = random.integers(100, size=length)
        of_topic = random.random(length) < np.where(np.arange(length) < lead, 0.8, 0.05)
        words[of_topic] = random.choice(np.flatnonzero(topic_of_word == topic), size=of_topic.sum())
        documents.append(words)
    offsets = np.cumsum([0, *map(len, documents)])
    ids = np.concatenate(documents).astype(np.int32)
    tokens = Tokens(ids, np.ones(len(ids), dtype=bool), offsets, np.arange(len(documents)))
    member = topic_of_word == np.arange(10)[:, None]
    flags = np.ones(100, dtype=bool)
    vocabulary = Vocabulary([], [f"w{i}" for i in range(100)], flags, flags, ~flags, "")
    topic_word = np.where(member, 0.1, 1e-9)
    assignment = assign_topics(topic_word, 0.095, "single")
    assert assignment.words_per_topic == 10 and len(assignment.words) == 100
    pairs = topic_pairs([topic_word], [10], np.arange(100), vocabulary)
    maker = BatchMaker(tokens, cut_passages(tokens, 64, 0), SpecialTokens((), (), 0), pairs.words, 100)
    batches = np.array_split(np.arange(len(documents)), 4)
    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=2, vocab_size=100, n_positions=64, bos_token_id=0, eos_token_id=0
    )
    config.save_pretrained(tmp_path)
    source = find_model(str(tmp_path))

    def ratio_interval(model):
        sums = read(model, maker, batches, pairs)
        parts = [pairs.classes(part, assignment) for part in (sums.documents, sums.document_pairs)]
        same, different = resample_documents(*parts, draw_weights(len(parts[0]), 500, 0)).T
        return interval(same / different)

    holds_one = 0
    for seed in range(5):
        model = load_model(source, "random", random_state=seed)
        low, high = ratio_interval(model)
        assert 0.999 < low < high < 1.001
        holds_one += low < 1 < high
        low, high = ratio_interval(dataclasses.replace(model, causal=False))
        assert low > 1.4
    assert holds_one >= 3


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_padding_side_and_labelled_positions_of_a_batch(data):
    """Batches are padded on the right, whatever the tokenizer does, and name every labelled word once."""
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    ids = np.array(data.draw(st.lists(st.integers(0, 9), min_size=sum(lengths), max_size=sum(lengths))), dtype=np.int32)
    is_word = np.array(data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids))))
    offsets = np.cumsum([0, *lengths])
    labelled = np.array([2, 3, 7])
    tokens = Tokens(ids, is_word, offsets, np.arange(len(lengths)))
    passages = Passages(offsets[:-1], offsets[1:], np.arange(len(lengths)))
    batch = BatchMaker(tokens, passages, SpecialTokens((11,), (12,), 13), labelled, 10)(np.arange(len(lengths)))
    for row, (start, stop) in enumerate(itertools.pairwise(offsets)):
        text = [11, *ids[start:stop], 12]
        assert batch.input_ids[row].tolist() == text + [13] * (batch.input_ids.shape[1] - len(text))
        assert batch.attention_mask[row].tolist() == [1] * len(text) + [0] * (batch.input_ids.shape[1] - len(text))
        expected = [
            (1 + place, int(np.searchsorted(labelled, token)))
            for place, token in enumerate(ids[start:stop])
            if is_word[start + place] and token in labelled
        ]
        found = [(r, w) for r, w in zip(batch.rows[row].tolist(), batch.words[row].tolist(), strict=True) if w >= 0]
        assert found == expected


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
