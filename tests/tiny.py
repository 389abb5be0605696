"""Small models of every family, made from configs with their own kind of tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers import models as token_models

VOCABULARY = 900
POSITIONS = 66
# Of each text: enough for a vocabulary this small.
_TRAINING_CHARACTERS = 8000


SPECIAL = ["<unk>", "<pad>", "<mask>", "[CLS]", "[SEP]", "<s>", "</s>"]


def _wordpiece(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(token_models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _unigram(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(token_models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s+"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _byte_level(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _byte_fallback(texts: Iterable[str]) -> Tokenizer:
    """Llama 2's kind: merges learned within words, then used on whole texts, which are never split."""
    learner = Tokenizer(token_models.BPE(unk_token="<unk>"))
    learner.normalizer = normalizers.Replace(Regex(r"\s+"), " ")
    learner.pre_tokenizer = pre_tokenizers.Metaspace()
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[*SPECIAL, *fallback], limit_alphabet=60, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    merges = [tuple(merge) for merge in learned["merges"]]
    tokenizer = Tokenizer(
        token_models.BPE(learned["vocab"], merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


@cache
def _trained(kind: Callable[..., Tokenizer], texts: tuple[str, ...]) -> str:
    return kind(texts).to_str()


def _tokenizer(
    kind: Callable[..., Tokenizer], template: str, texts: tuple[str, ...]
) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer whose passages look like `template`, where $A is the text."""
    tokenizer = Tokenizer.from_str(_trained(kind, texts))
    around = [(token, tokenizer.token_to_id(token)) for token in template.split() if token != "$A"]
    if around:
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=around)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        extra_special_tokens=[token for token, _ in around],
    )


def _encoder(config: type, **more: object) -> Callable[[], transformers.PreTrainedConfig]:
    common = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": POSITIONS,
        "initializer_range": 0.3,
        "pad_token_id": 1,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    return lambda: config(**common | more)


def _bart(config: type, **more: object) -> Callable[[], transformers.PreTrainedConfig]:
    return lambda: config(
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
        pad_token_id=1,
        bos_token_id=5,
        eos_token_id=6,
        decoder_start_token_id=6,
        **more,
    )


_BERT = (_wordpiece, "[CLS] $A [SEP]")
_ALBERT = (_unigram, "[CLS] $A [SEP]")
_ROBERTA = (_byte_level, "<s> $A </s>")
_LLAMA = (_byte_fallback, "<s> $A")
_GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
_DEBERTA = {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"]}

FAMILIES = {
    "bert": (*_BERT, _encoder(transformers.BertConfig)),
    "albert": (*_ALBERT, _encoder(transformers.AlbertConfig, embedding_size=16)),
    "bart": (*_ROBERTA, _bart(transformers.BartConfig)),
    "mbart": (_unigram, "$A </s> <s>", _bart(transformers.MBartConfig)),
    "electra": (*_BERT, _encoder(transformers.ElectraConfig, embedding_size=16)),
    "roberta": (*_ROBERTA, _encoder(transformers.RobertaConfig)),
    "xlm-roberta": (_unigram, "<s> $A </s>", _encoder(transformers.XLMRobertaConfig)),
    "distilbert": (
        *_BERT,
        lambda: transformers.DistilBertConfig(
            dim=32,
            n_layers=3,
            n_heads=4,
            hidden_dim=48,
            vocab_size=VOCABULARY,
            max_position_embeddings=POSITIONS,
            initializer_range=0.3,
            pad_token_id=1,
        ),
    ),
    "mpnet": (_wordpiece, "<s> $A </s>", _encoder(transformers.MPNetConfig)),
    "deberta": (*_ROBERTA, _encoder(transformers.DebertaConfig, **_DEBERTA)),
    "deberta-v2": (
        *_ALBERT,
        _encoder(
            transformers.DebertaV2Config,
            **_DEBERTA,
            position_buckets=16,
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            conv_kernel_size=3,
        ),
    ),
    "modernbert": (
        _byte_level,
        "[CLS] $A [SEP]",
        _encoder(transformers.ModernBertConfig, local_attention=16, global_attn_every_n_layers=3),
    ),
    "t5": (
        _unigram,
        "$A </s>",
        lambda: transformers.T5Config(
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=3,
            num_decoder_layers=2,
            num_heads=4,
            vocab_size=VOCABULARY,
            initializer_factor=1.5,
            pad_token_id=1,
            decoder_start_token_id=1,
        ),
    ),
    "gpt2": (
        _byte_level,
        "$A",
        lambda: transformers.GPT2Config(
            n_embd=32, n_layer=3, n_head=4, vocab_size=VOCABULARY, n_positions=POSITIONS, initializer_range=0.3
        ),
    ),
    "llama": (*_LLAMA, _encoder(transformers.LlamaConfig, **_GROUPED)),
    "mistral": (*_LLAMA, _encoder(transformers.MistralConfig, **_GROUPED, sliding_window=16)),
    "qwen2": (_byte_level, "$A", _encoder(transformers.Qwen2Config, num_key_value_heads=2)),
    # Architectures without an adapter: one that goes through the attention interface, one that does not.
    "opt": (*_ROBERTA, _encoder(transformers.OPTConfig, ffn_dim=48, word_embed_proj_dim=32, init_std=0.3)),
    "gemma2": (*_LLAMA, _encoder(transformers.Gemma2Config, **_GROUPED, attn_logit_softcapping=2.0)),
}


def save_tiny(family: str, folder: Path, texts: Sequence[str]) -> Path:
    """Save a small model of a family, with random weights large enough that its attention is not uniform."""
    kind, template, make_config = FAMILIES[family]
    torch.manual_seed(7)
    transformers.AutoModel.from_config(make_config()).save_pretrained(folder)
    _tokenizer(kind, template, tuple(text[:_TRAINING_CHARACTERS] for text in texts)).save_pretrained(folder)
    return folder
