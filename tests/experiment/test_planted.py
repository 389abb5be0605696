"""What is planted comes back: topics in embeddings and attention, and nothing at random weights."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import probe
from tests.experiment.small import lda

TOPICS, WORDS, LENGTH = 5, 8, 40


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> tuple[Path, Path]:
    """A corpus of two-topic documents and a BERT whose embeddings and attention know the topics."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    folder = tmp_path_factory.mktemp("planted")
    random = np.random.default_rng(5)
    names = [[f"topic{t}word{chr(97 + w)}" for w in range(WORDS)] for t in range(TOPICS)]
    with (folder / "corpus.jsonl").open("w") as file:
        for _ in range(300):
            topics = random.choice(TOPICS, 2, replace=False)
            # As many words of either topic, so that attention has one normalizer in all passages.
            chosen = random.permutation(np.repeat(topics, LENGTH // 2))
            words = [names[t][w] for t, w in zip(chosen, random.integers(WORDS, size=LENGTH), strict=True)]
            file.write(json.dumps({"text": " ".join(words)}) + "\n")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    entries = special + [word for topic in names for word in topic]
    tokenizer = Tokenizer(WordLevel({entry: i for i, entry in enumerate(entries)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    width = 16
    model = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=len(entries), hidden_size=width, num_hidden_layers=1, num_attention_heads=1,
            intermediate_size=16, max_position_embeddings=64, type_vocab_size=1,
        )
    )  # fmt: skip
    with torch.no_grad():
        table = model.embeddings.word_embeddings.weight.zero_()
        for t in range(TOPICS):
            for w in range(WORDS):
                row = table[len(special) + t * WORDS + w]
                row[0], row[1 + t] = 1.0, 1.0  # cosine 1 within a topic, 1/2 between topics
        model.embeddings.position_embeddings.weight.zero_()
        model.embeddings.token_type_embeddings.weight.zero_()
        layer = model.encoder.layer[0].attention.self
        for linear in (layer.query, layer.key):
            linear.weight.zero_()
            linear.bias.zero_()
            for t in range(TOPICS):
                # LayerNorm maps the two ones of a word to sqrt(7) and its zeros to -1 / sqrt(7): over the five topic
                # coordinates two words of one topic have the product 7 + 4 / 7, of two topics -2 + 3 / 7.
                linear.weight[t, 1 + t] = (np.log(3) * np.sqrt(width) * 7 / 64) ** 0.5
    model.save_pretrained(folder / "model")
    wrapped.save_pretrained(folder / "model")
    return folder / "corpus.jsonl", folder / "model"


def test_planted_topics_embeddings_and_attention_come_back(planted, tmp_path):
    corpus, model = planted
    from probe.topics.settings import LdaSettings

    # k = floor(0.19 * 40) + 1 = 8, the planted words of a topic.
    result = probe.run(
        str(model), str(corpus), [0.19], cache=tmp_path, passages=200, resamples=200, baseline=False,
        max_length=64, lda=LdaSettings(topics=TOPICS, passes=10, alpha=0.1, eta=0.01),
    )  # fmt: skip
    topics = result.tables["topics"]
    for _, words in topics.groupby("topic"):
        assert words["surface"].str[:6].nunique() == 1
    measures = result.tables["measures"].set_index(["assignment", "measure", "site"])
    for kind in ("single", "multiple"):
        assert measures.loc[(kind, "cosine", "word"), "ratio"] == pytest.approx(2, rel=1e-5)
        assert measures.loc[(kind, "dot", "word"), "ratio"] == pytest.approx(2, rel=1e-5)
        row = measures.loc[(kind, "attention", "attention")]
        assert row["ratio"] == pytest.approx(3, rel=1e-4)
        assert row["p_value"] < 0.01
        assert row["null_high"] < row["ratio"]


def test_random_weights_give_one_and_the_word_ratio_is_withheld(tiny_models, small_corpus, tmp_path):
    result = probe.run(
        str(tiny_models("bert")), str(small_corpus), [0.05], cache=tmp_path, lda=lda(8), passages=150, max_length=48
    )
    measures = result.tables["measures"]
    random = measures[(measures["weights"] == "random") & (measures["assignment"] == "single")]
    random = random.set_index(["measure", "site"])
    for row in (("attention", "attention"), ("cosine", "layer"), ("dot", "layer")):
        assert random.loc[row, "low"] <= 1 <= random.loc[row, "high"], row
    for measure in ("cosine", "dot"):
        assert np.isnan(random.loc[(measure, "word"), "ratio"])
        assert "not clearly away from zero" in random.loc[(measure, "word"), "note"]
    table = result.tables["table1"].set_index("weights")
    assert table.loc["pretrained", "site"] == "word"
    assert table.loc["random", "site"] == "layer"
