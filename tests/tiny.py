"""Small models of every family, made from configs with their own kind of tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers import models as token_models

VOCABULARY = 900
POSITIONS = 66


def _wordpiece(texts: Iterable[str]) -> transformers.PreTrainedTokenizerFast:
    tokenizer = Tokenizer(token_models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special))
    return _wrapped(tokenizer, "[CLS]", "[SEP]", pad="[PAD]", unk="[UNK]", mask="[MASK]")


def _unigram(texts: Iterable[str]) -> transformers.PreTrainedTokenizerFast:
    tokenizer = Tokenizer(token_models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.UnigramTrainer(vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(texts, trainer)
    return _wrapped(tokenizer, "[CLS]", "[SEP]", pad="<pad>", unk="<unk>", mask="[MASK]")


def _byte_level(texts: Iterable[str]) -> transformers.PreTrainedTokenizerFast:
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _wrapped(tokenizer, "<s>", "</s>", pad="<pad>", unk="<unk>", mask="<mask>")


def _wrapped(
    tokenizer: Tokenizer, first: str, last: str, *, pad: str, unk: str, mask: str
) -> transformers.PreTrainedTokenizerFast:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        special_tokens=[(first, tokenizer.token_to_id(first)), (last, tokenizer.token_to_id(last))],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unk,
        mask_token=mask,
        cls_token=first,
        sep_token=last,
    )


def _encoder(config: type, **more: object) -> transformers.PreTrainedConfig:
    return config(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=VOCABULARY,
        max_position_embeddings=POSITIONS,
        initializer_range=0.3,
        **more,
    )


FAMILIES = {
    "bert": (_wordpiece, lambda: _encoder(transformers.BertConfig)),
    "albert": (_unigram, lambda: _encoder(transformers.AlbertConfig, embedding_size=16)),
    "bart": (
        _byte_level,
        lambda: transformers.BartConfig(
            d_model=32,
            encoder_layers=3,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            vocab_size=VOCABULARY,
            max_position_embeddings=POSITIONS,
            init_std=0.3,
        ),
    ),
    "electra": (_wordpiece, lambda: _encoder(transformers.ElectraConfig, embedding_size=16)),
    "roberta": (
        _byte_level,
        lambda: _encoder(transformers.RobertaConfig, pad_token_id=1, bos_token_id=0, eos_token_id=2),
    ),
}


def save_tiny(family: str, folder: Path, texts: Iterable[str]) -> Path:
    """Save a small model of a family, with random weights large enough that its attention is not uniform."""
    make_tokenizer, make_config = FAMILIES[family]
    torch.manual_seed(7)
    transformers.AutoModel.from_config(make_config()).save_pretrained(folder)
    make_tokenizer(texts).save_pretrained(folder)
    return folder
