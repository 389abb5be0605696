"""Each family's own kind of tokenizer, trained on a corpus.

BERT and ELECTRA: WordPiece, uncased. ALBERT: unigram language model over SentencePiece's space markers, uncased.
BART and RoBERTa: byte-level byte-pair encoding, cased. Accents are stripped only where a language loses nothing by it
(`probe.pretraining.writing`).

The library's trainers of the first two break ties in the order of a hash table, so a tokenizer that is trained anew
may differ in a few entries; `probe pretrain` keeps the one that it has trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from probe.errors import ProbeError
from probe.pretraining.writing import Writing

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer
    from transformers import PreTrainedTokenizerFast

KINDS = {
    "bert": "wordpiece",
    "albert": "unigram",
    "bart": "byte-level",
    "electra": "wordpiece",
    "roberta": "byte-level",
}
_SMALLEST_ALPHABET = 128
# Thai, Lao and others write whole clauses without a space.
_LONGEST_WORD = 1000
# The pattern of GPT-2, where a combining mark (a vowel sign) or a joiner belongs to the letters around it.
_WORDS_WITH_MARKS = r"'(?:s|t|re|ve|m|ll|d)| ?[\p{L}\p{M}\u200c\u200d]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
ENGLISH = Writing()


def train_tokenizer(
    family: str,
    texts: Iterable[str],
    vocabulary: int,
    max_length: int | None = None,
    writing: Writing = ENGLISH,
) -> PreTrainedTokenizerFast:
    """Train a family's kind of tokenizer.

    Args:
        family: bert, albert, bart, electra or roberta.
        texts: the corpus; it is iterated more than once.
        vocabulary: entries wanted, special tokens included.
        max_length: the longest input of the model it is for, in tokens.
        writing: how the language of the corpus is written.

    Returns:
        A fast tokenizer that puts the family's special tokens around a text.

    Raises:
        ProbeError: there is too little text for a vocabulary.
    """
    from transformers import PreTrainedTokenizerFast

    make = {"wordpiece": _wordpiece, "unigram": _unigram, "byte-level": _byte_level}[KINDS[family]]
    try:
        tokenizer, special = make(texts, vocabulary, writing)
    except Exception as error:  # the tokenizers library raises bare exceptions
        raise ProbeError(
            f"No tokenizer of {vocabulary:,} entries can be trained on this corpus ({error}): give more text."
        ) from error
    if tokenizer.get_vocab_size() <= len(special):
        raise ProbeError(f"The corpus holds too little text for a vocabulary of {vocabulary:,}: give more text.")
    longest = {} if max_length is None else {"model_max_length": max_length}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special, **longest)


def _alphabet_size(vocabulary: int, writing: Writing) -> int:
    """How many characters may stand for themselves; rarer ones (other scripts) would fill a small vocabulary."""
    return max(_SMALLEST_ALPHABET, vocabulary // (2 if writing.many_letters else 32))


def _lowercase(writing: Writing) -> list[Normalizer]:
    from tokenizers import normalizers

    turkish = [normalizers.Replace("İ", "i"), normalizers.Replace("I", "ı")] if writing.turkish_case else []
    return [*turkish, normalizers.Lowercase()]


def _wordpiece(texts: Iterable[str], vocabulary: int, writing: Writing) -> tuple[Tokenizer, dict[str, object]]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    if writing.strip_accents:
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    else:
        # Corpora are clean already; cleaning again would take the joiners out of Persian and Hindi.
        split = normalizers.BertNormalizer(clean_text=False, strip_accents=False, lowercase=False)
        tokenizer.normalizer = normalizers.Sequence([split, *_lowercase(writing)])
        tokenizer.model.max_input_chars_per_word = _LONGEST_WORD
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=list(special.values()),
        limit_alphabet=_alphabet_size(vocabulary, writing),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _with_ends(tokenizer, "[CLS]", "[SEP]"), dict(special)


def _unigram(texts: Iterable[str], vocabulary: int, writing: Writing) -> tuple[Tokenizer, dict[str, object]]:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = Tokenizer(models.Unigram())
    bare = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    # NFC: compatibility forms take the vowel of the Thai \u0e19\u0e49\u0e33 apart.
    letters = bare if writing.strip_accents else [normalizers.NFC(), *_lowercase(writing)]
    normalizer = normalizers.Sequence([*letters, normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.normalizer = normalizer
    # SentencePiece lets no piece cross from letters to punctuation or digits.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits()]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=list(special.values()), unk_token="<unk>", show_progress=False
    )
    # The trainer keeps every character it meets, so it must not meet the rare ones.
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(normalizer.normalize_str(text))
    common = {character for character, _ in counts.most_common(_alphabet_size(vocabulary, writing))}
    rare = {ord(character): " " for character in counts if character not in common}
    tokenizer.train_from_iterator((normalizer.normalize_str(text).translate(rare) for text in texts), trainer)
    return _with_ends(tokenizer, "[CLS]", "[SEP]"), dict(special)


def _byte_level(texts: Iterable[str], vocabulary: int, writing: Writing) -> tuple[Tokenizer, dict[str, object]]:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    # The mask takes the space before it, as in the published tokenizers.
    mask = AddedToken("<mask>", lstrip=True, special=True)
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if not writing.strip_accents:
        split = pre_tokenizers.Split(Regex(_WORDS_WITH_MARKS), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*special.values(), mask],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    ends = {"cls_token": "<s>", "sep_token": "</s>", "mask_token": mask}
    return _with_ends(tokenizer, "<s>", "</s>"), {**special, **ends}


def _with_ends(tokenizer: Tokenizer, first: str, last: str) -> Tokenizer:
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, tokenizer.token_to_id(first)), (last, tokenizer.token_to_id(last))],
    )
    return tokenizer
