"""Words of several tokens: what is read equals transformers' own eager maps, pooled by hand."""

import numpy as np
import pytest
import torch

from probe.measures.between import attention_between
from probe.measures.pooling import pool_attention_literal
from probe.text.passages import pack
from tests.measures.eager import literal_whole_words, own_maps_of_words

# Byte-level BPE, SentencePiece, WordPiece; causal rows; a decoder's shift; maps outside the attention interface.
CASES = ["bert", "roberta", "albert", "gpt2", "llama", "bart:decoder", "bart:cross", "deberta-v2"]
CAUSAL = {"gpt2", "llama", "bart:decoder"}


@pytest.mark.parametrize("case", [f"whole {name}" for name in CASES], indirect=True)
def test_sums_equal_those_of_eager_maps_pooled_by_hand(case, tiny_models, request):
    name = request.node.callspec.params["case"].removeprefix("whole ")
    family, _, attention = name.partition(":")
    folder = str(tiny_models(family))
    sums, counts, vectors, occurrences = literal_whole_words(case, folder, attention or "encoder", name in CAUSAL)
    assert counts.min() >= 8
    everything = np.arange(len(case.passages))
    for batches in ([everything], pack(case.maker().lengths, 200)):
        found = case.sums(batches)
        np.testing.assert_allclose(case.classes(found.layers), sums, rtol=1e-5, atol=1e-5)
        of_documents = case.classes(found.documents).sum(axis=0)
        np.testing.assert_allclose(of_documents, sums.mean(axis=(0, 1)), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(case.classes(found.document_pairs).sum(axis=0), counts)
        np.testing.assert_array_equal(found.occurrences, occurrences)
        np.testing.assert_allclose(found.vectors, vectors, rtol=1e-4, atol=1e-4)
    matrix = case.model.module.get_input_embeddings().weight
    for place, word in enumerate(case.pairs.words):
        pieces = case.words.pieces[case.words.offsets[word] : case.words.offsets[word + 1]]
        expected = torch.stack([matrix[piece] for piece in pieces]).detach().double().numpy().mean(axis=0)
        np.testing.assert_allclose(found.word_vectors[place], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", ["whole bert"], indirect=True)
def test_table_of_pairs_and_distances_add_up_to_the_class_sums(case):
    found = case.sums([np.arange(len(case.passages))])
    np.testing.assert_allclose(found.distances.sum(axis=(0, 1)), found.documents.sum(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(found.distance_pairs.sum(axis=(0, 1)), found.document_pairs.sum(axis=0))
    total = found.documents.sum(axis=0)[len(case.pairs.sizes) - 1]
    carrying = np.zeros((len(case.pairs), len(case.pairs)), dtype=bool)
    position = case.labelled[2].position  # of the widest theta
    carrying[np.ix_(position, position)] = True
    assert found.table[carrying[np.tril_indices(len(case.pairs), -1)]].sum() == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("case", ["whole bert", "whole gpt2"], indirect=True)
def test_attention_between_chosen_words_equals_eager_maps_pooled_by_hand(case, tiny_models, request):
    family = request.node.callspec.params["case"].removeprefix("whole ")
    words = case.maker()(np.arange(len(case.passages))).words
    chosen, causal = np.flatnonzero((words >= 0).sum(dim=1).numpy() > 2)[:5], family == "gpt2"
    columns = np.tile([2, 0, 1], (len(chosen), 1))
    found = attention_between(case.model, case.maker()(chosen), columns)
    for row, (maps, words) in enumerate(own_maps_of_words(case, str(tiny_models(family)), chosen)):
        spread = np.arange(1, maps.shape[-1] + 1)[:, None] if causal else maps.shape[-1]
        positions = [words[column][1] for column in columns[row]]
        expected = np.array([pool_attention_literal(layer * spread / 100, positions, positions) for layer in maps])
        if causal:
            expected[:, :, columns[row] >= columns[row][:, None]] = np.nan
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-6)
