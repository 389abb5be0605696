"""The attention that is read equals transformers' own eager maps, whatever the batch."""

import dataclasses

import numpy as np
import pytest
import torch
import transformers

from probe.measures.attention import AttentionSums, attention_sums_literal, measure_attention
from probe.measures.batches import BatchMaker
from probe.measures.pairs import pair_states, topic_pairs
from probe.models.loading import find_model, load_model, load_tokenizer
from probe.passages import Passages, cut_passages, pack, special_tokens
from probe.tokens import Tokens, tokenize
from probe.topics import Assignment
from probe.vocabulary import build_vocabulary
from tests.tiny import FAMILIES

MAX_LENGTH = 48


@dataclasses.dataclass
class Case:
    model: object
    tokens: Tokens
    passages: Passages
    specials: object
    vocabulary: object
    pairs: object

    def maker(self, passages=None):
        chosen = self.passages if passages is None else passages
        return BatchMaker(self.tokens, chosen, self.specials, self.pairs.words, len(self.vocabulary))

    def sums(self, batches, **options):
        return measure_attention(self.model, self.maker(), batches, self.pairs, **options)


def _random_assignments(words: np.ndarray, topics: int = 4) -> list[Assignment]:
    random = np.random.default_rng(3)
    found = []
    for theta, share in ((0.1, 0.3), (0.2, 0.6)):
        chosen = np.flatnonzero(random.random(len(words)) < share)
        single = np.zeros((topics, len(chosen)), dtype=bool)
        single[random.integers(topics, size=len(chosen)), np.arange(len(chosen))] = True
        more = single | (random.random(single.shape) < 0.2)
        for kind, member in (("single", single), ("multiple", more)):
            found.append(Assignment(theta, kind, 0, len(words), 9, chosen, member))
    return found


@pytest.fixture(scope="module")
def case(request, tiny_models, tmp_path_factory, small_corpus):
    from corpora import open_corpus

    source = find_model(str(tiny_models(request.param)))
    tokenizer = load_tokenizer(source)
    vocabulary = build_vocabulary(tokenizer, {"the", "of", "and"})
    tokens = tokenize(open_corpus(str(small_corpus)), tokenizer, vocabulary, tmp_path_factory.mktemp("tokens"))
    specials = special_tokens(tokenizer)
    passages = cut_passages(tokens, MAX_LENGTH, len(specials))
    # Some of every document, last (short) passages among them, so that batches are padded.
    passages = passages[np.arange(0, len(passages), 3)]
    dictionary = np.unique(tokens.ids[np.asarray(tokens.is_word)])
    pairs = topic_pairs(_random_assignments(dictionary), dictionary, vocabulary)
    return Case(load_model(source), tokens, passages, specials, vocabulary, pairs)


def _literal(case: Case, folder: str):
    """Sums from eager maps of one passage at a time, pair by pair."""
    eager = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    if hasattr(eager, "encoder") and eager.config.is_encoder_decoder:
        eager = eager.get_encoder()
    layers, documents, counts, per_passage = 0.0, {}, {}, []
    place = {word: index for index, word in enumerate(case.pairs.words)}
    size = len(case.pairs)
    full = []
    for assignment, position in zip(case.pairs.assignments, case.pairs.position, strict=True):
        states = np.zeros((size, size), dtype=np.uint8)
        states[np.ix_(position, position)] = pair_states(assignment, case.pairs.surface[position])
        full.append(states)
    for start, stop, document in zip(case.passages.start, case.passages.stop, case.passages.document, strict=True):
        text = case.tokens.ids[start:stop]
        ids = [*case.specials.before, *text, *case.specials.after]
        with torch.inference_mode():
            maps = eager(
                input_ids=torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                output_attentions=True,
            ).attentions
        maps = np.concatenate([layer.numpy() for layer in maps])
        per_passage.append(maps)
        words = [place.get(t, -1) if w else -1 for t, w in zip(text, case.tokens.is_word[start:stop], strict=True)]
        words = [-1] * len(case.specials.before) + words + [-1] * len(case.specials.after)
        found = [attention_sums_literal(maps, words, states) for states in full]
        sums = np.concatenate([one for one, _ in found], axis=2)
        layers = layers + sums
        documents[document] = documents.get(document, 0) + sums.mean(axis=(0, 1))
        counts[document] = counts.get(document, 0) + np.concatenate([count for _, count in found])
    order = sorted(documents)
    return layers, np.array([documents[d] for d in order]), np.array([counts[d] for d in order]), per_passage


@pytest.mark.parametrize("case", FAMILIES, indirect=True)
def test_sums_equal_those_of_eager_maps_in_padded_batches(case, tiny_models, request):
    family = request.node.callspec.params["case"]
    layers, documents, counts, maps = _literal(case, str(tiny_models(family)))
    lengths = case.maker().lengths
    assert lengths.min() < lengths.max()
    found = case.sums([np.arange(len(case.passages))])  # one batch: every shorter passage is padded
    assert found.layers.shape == (3, 4, 8)
    np.testing.assert_allclose(found.layers, layers, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.documents, documents, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.document_pairs, counts)
    # Mass balance: debiased attention averages 1/100 over every passage.
    for passage in maps:
        debiased = passage * passage.shape[-1] / 100
        np.testing.assert_allclose(debiased.mean(axis=(2, 3)), 1 / 100, rtol=1e-5)


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
    half.save(tmp_path / "half.npz")
    resumed = case.sums(batches, start=AttentionSums.load(tmp_path / "half.npz"))
    straight = case.sums(batches)
    for field in dataclasses.fields(AttentionSums):
        np.testing.assert_array_equal(getattr(resumed, field.name), getattr(straight, field.name))


def _assert_equal(found: AttentionSums, expected: AttentionSums) -> None:
    for field in dataclasses.fields(AttentionSums):
        if field.name != "batches":
            np.testing.assert_allclose(getattr(found, field.name), getattr(expected, field.name), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["bert"], indirect=True)
def test_table_of_pairs_adds_up_to_the_class_sums(case):
    found = case.sums([np.arange(len(case.passages))])
    size = len(case.pairs)
    square = np.zeros((size, size))
    square[np.tril_indices(size, -1)] = found.table
    for column, position in enumerate(case.pairs.position):
        states = pair_states(case.pairs.assignments[column], case.pairs.surface[position])
        part = (square + square.T)[np.ix_(position, position)]
        for offset, state in enumerate((1, 2)):
            expected = found.documents[:, 2 * column + offset].sum()
            assert part[states == state].sum() / 2 == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("case", ["albert", "electra", "bart"], indirect=True)
def test_layer_vectors_are_the_first_hidden_state(case, tiny_models, request):
    family = request.node.callspec.params["case"]
    model = transformers.AutoModel.from_pretrained(str(tiny_models(family))).eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    found = case.sums([np.arange(len(case.passages))])
    vectors, occurrences = np.zeros_like(found.vectors), np.zeros_like(found.occurrences)
    place = {word: index for index, word in enumerate(case.pairs.words)}
    for start, stop in zip(case.passages.start, case.passages.stop, strict=True):
        text = case.tokens.ids[start:stop]
        ids = [*case.specials.before, *text, *case.specials.after]
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[0][0]
        for offset, (token, is_word) in enumerate(zip(text, case.tokens.is_word[start:stop], strict=True)):
            if is_word and token in place:
                vectors[place[token]] += hidden[offset + len(case.specials.before)].numpy()
                occurrences[place[token]] += 1
    np.testing.assert_array_equal(found.occurrences, occurrences)
    np.testing.assert_allclose(found.vectors, vectors, rtol=1e-4, atol=1e-4)
