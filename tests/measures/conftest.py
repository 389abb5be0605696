"""A small model of a family, its passages and its pairs."""

import numpy as np
import pytest

from probe.measures.pairs import Labelled, topic_pairs
from probe.models.loading import load_model, load_tokenizer
from probe.models.sources import find_model
from probe.text.passages import cut_passages, special_tokens
from probe.text.tokens import tokenize
from probe.text.vocabulary import build_vocabulary
from probe.text.words import Words
from probe.topics.assignment import KINDS, assign_topics, words_per_topic
from tests.measures.eager import MAX_LENGTH, THETAS, Case, random_topics


@pytest.fixture(scope="module")
def case(request, tiny_models, tmp_path_factory, small_corpus):
    """A small model of a family, "FAMILY" or "FAMILY:ATTENTION", and some passages; "whole FAMILY" for whole words."""
    from corpora import open_corpus

    family, _, attention = request.param.removeprefix("whole ").partition(":")
    several = request.param.startswith("whole ")
    source = find_model(family if family == "minilm" else str(tiny_models(family)))
    tokenizer = load_tokenizer(source)
    vocabulary = build_vocabulary(tokenizer, {"the", "of", "and"})
    folder = tmp_path_factory.mktemp("tokens")
    tokens = tokenize(open_corpus(str(small_corpus)), tokenizer, vocabulary, folder, several=several)
    words = Words.load(folder, vocabulary)
    specials = special_tokens(tokenizer)
    passages = cut_passages(tokens, MAX_LENGTH, len(specials))
    # Some of several documents, last (short) passages among them, so that batches are padded.
    last = np.flatnonzero(np.diff(passages.document, append=-1))
    passages = passages[np.unique(np.concatenate([np.arange(0, len(passages), 8), last]))]
    dictionary = np.unique(tokens.words(0, len(tokens.ids))[np.asarray(tokens.is_word)])
    topic_words = random_topics(len(dictionary))
    sizes = [words_per_topic(theta, len(dictionary)) for theta in THETAS]
    more = np.random.default_rng(0).choice(dictionary, 5).tolist()
    pairs = topic_pairs(topic_words, [1, 3, *sizes], dictionary, words, more)
    assignments = [
        assign_topics(topic_word, theta, kind, seed)
        for seed, topic_word in enumerate(topic_words)
        for theta in THETAS
        for kind in KINDS
    ]
    labelled = [Labelled(one, np.searchsorted(pairs.words, dictionary[one.words])) for one in assignments]
    model = load_model(source, attention=attention or "encoder")
    return Case(model, tokens, passages, specials, words, pairs, labelled)
