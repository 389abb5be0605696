"""Each family's pretraining objective: what is hidden from the model, and the loss of what it says.

- BERT (Devlin et al., 2019), RoBERTa (Liu et al., 2019), ALBERT (Lan et al., 2020): masked language modeling. A share
  of the tokens is predicted: 40 % unless asked otherwise (Wettig et al., 2023), where the papers take 15 %. Of them
  80 % are replaced by the mask token, 10 % by a random token, 10 % stay. The masks are drawn anew whenever a passage is
  read (RoBERTa's dynamic masking; BERT's ten fixed masks a passage are the same thing for less than ten epochs).
  Sentence-level objectives (next sentence, sentence order) are left out.
- BART (Lewis et al., 2020): text infilling. Spans of Poisson(3) tokens, 30 % of the tokens in all, are each replaced
  by one mask token (a span of no token inserts one), and the decoder writes the whole passage.
- ELECTRA (Clark et al., 2020): a small generator is trained by masked language modeling (85 % of what it predicts
  become the mask token), its samples replace the tokens it predicts, and the discriminator, whose loss weighs 50, tells
  which tokens were replaced. The token and position embeddings of both are one.

The masks of masked language modeling are made by transformers' own collator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import (
    AlbertForMaskedLM,
    BartForConditionalGeneration,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    RobertaForMaskedLM,
)

from probe.pretraining.architectures import generator_config

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

MASKED_SHARE = 0.4
INFILLED_SHARE = 0.3
SPAN_LENGTH = 3.0
DISCRIMINATOR_WEIGHT = 50.0
_IGNORED = -100

Losses = dict[str, torch.Tensor]


class Objective(nn.Module, ABC):
    """A family's networks and the loss they are trained on.

    Attributes:
        encoder: the network, with its head, whose body is kept.
    """

    encoder: PreTrainedModel

    @abstractmethod
    def losses(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Losses:
        """The losses of a batch; what is hidden is drawn from torch's global random state.

        Args:
            input_ids: [batch, length] passages as they are, special tokens included.
            attention_mask: [batch, length] int64, 0 where there is padding.

        Returns:
            `loss`, the scalar to minimize, and its parts where it has any.
        """


def make_objective(
    family: str, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, masked_share: float = MASKED_SHARE
) -> Objective:
    """The objective of a family, with weights drawn from torch's global random state.

    Args:
        family: bert, albert, bart, electra or roberta.
        config: of the model that is kept.
        tokenizer: its tokenizer.
        masked_share: share of the tokens that a masked language model predicts; BART has its own.
    """
    if family == "bart":
        return TextInfilling(BartForConditionalGeneration(config), tokenizer)
    if family == "electra":
        return ReplacedTokenDetection(config, tokenizer, masked_share)
    if family == "bert":
        network = BertForMaskedLM(config)
        return MaskedLanguageModeling(network, network.cls, tokenizer, masked_share)
    if family == "albert":
        network = AlbertForMaskedLM(config)
        return MaskedLanguageModeling(network, network.predictions, tokenizer, masked_share)
    network = RobertaForMaskedLM(config)
    return MaskedLanguageModeling(network, network.lm_head, tokenizer, masked_share)


class _Masker:
    """Hides tokens from a masked language model."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        masked_share: float,
        mask_replace_prob: float,
        random_replace_prob: float,
    ):
        self._collator = DataCollatorForLanguageModeling(
            tokenizer,
            mlm_probability=masked_share,
            mask_replace_prob=mask_replace_prob,
            random_replace_prob=random_replace_prob,
        )
        self._special = torch.tensor(tokenizer.all_special_ids)

    def __call__(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The masked input, and which positions are predicted; both [batch, length]."""
        device = input_ids.device
        ids = input_ids.cpu()
        masked, labels = self._collator.torch_mask_tokens(ids.clone(), torch.isin(ids, self._special))
        return masked.to(device), (labels != _IGNORED).to(device)


class MaskedLanguageModeling(Objective):
    """Masked language modeling; the head reads the predicted positions alone, which costs a third of reading all.

    Args:
        network: with a masked language modeling head.
        head: of the network: hidden states to logits.
        tokenizer: its tokenizer.
        masked_share: share of the tokens that are predicted.
    """

    def __init__(
        self, network: PreTrainedModel, head: nn.Module, tokenizer: PreTrainedTokenizerFast, masked_share: float
    ):
        super().__init__()
        self.encoder = network
        self._head: Callable[[torch.Tensor], torch.Tensor] = head
        self._masker = _Masker(tokenizer, masked_share, mask_replace_prob=0.8, random_replace_prob=0.1)

    def losses(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Losses:
        """The cross-entropy of the predicted tokens (see `Objective.losses`)."""
        masked, predicted = self._masker(input_ids)
        hidden = self.encoder.base_model(input_ids=masked, attention_mask=attention_mask).last_hidden_state
        return {"loss": cross_entropy(self._head(hidden[predicted]).float(), input_ids[predicted])}


class TextInfilling(Objective):
    """BART's text infilling.

    Args:
        network: the encoder and decoder.
        tokenizer: its tokenizer.
    """

    def __init__(self, network: BartForConditionalGeneration, tokenizer: PreTrainedTokenizerFast):
        super().__init__()
        self.encoder = network
        self._mask, self._padding = tokenizer.mask_token_id, tokenizer.pad_token_id

    def losses(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Losses:
        """The cross-entropy of every token of the passage (see `Objective.losses`)."""
        random = np.random.default_rng(int(torch.randint(2**62, (1,))))
        infilled = [
            _infilled(ids[mask == 1], self._mask, random)
            for ids, mask in zip(input_ids.cpu().numpy(), attention_mask.cpu().numpy(), strict=True)
        ]
        lengths = np.array([len(ids) for ids in infilled])
        filled = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(filled.shape, self._padding, dtype=np.int64)
        padded[filled] = np.concatenate(infilled)
        device = input_ids.device
        output = self.encoder(
            input_ids=torch.from_numpy(padded).to(device),
            attention_mask=torch.from_numpy(filled.astype(np.int64)).to(device),
            labels=input_ids.masked_fill(attention_mask == 0, _IGNORED),
        )
        return {"loss": output.loss}


def _infilled(ids: np.ndarray, mask: int, random: np.random.Generator) -> np.ndarray:
    """A passage with spans of its text replaced by one mask token each, its first and last token kept."""
    body = ids[1:-1]
    return np.concatenate([ids[:1], infill(body, mask, random), ids[-1:]])


def infill(body: np.ndarray, mask: int, random: np.random.Generator) -> np.ndarray:
    """Replace spans of tokens by one mask token each (Lewis et al., 2020, section 2.2).

    The spans' lengths are Poisson(3); the last one is cut so that 30 % of the tokens are hidden. Any order of spans
    and kept tokens is as likely as any other.

    Args:
        body: [tokens] a text without special tokens.
        mask: id of the mask token.
        random: where the spans come from.

    Returns:
        The text with spans replaced; a span of length 0 inserts a mask.
    """
    hidden = round(INFILLED_SHARE * len(body))
    spans: list[int] = []
    while (left := hidden - sum(spans)) > 0:
        spans.append(min(int(random.poisson(SPAN_LENGTH)), left))
    pieces = len(body) - hidden + len(spans)
    is_span = np.zeros(pieces, dtype=bool)
    is_span[random.choice(pieces, len(spans), replace=False)] = True
    taken = np.ones(pieces, dtype=np.int64)
    taken[is_span] = spans
    result = np.full(pieces, mask, dtype=body.dtype)
    starts = np.cumsum(taken) - taken
    result[~is_span] = body[starts[~is_span]]
    return result


class ReplacedTokenDetection(Objective):
    """ELECTRA's generator and discriminator.

    Args:
        config: of the discriminator.
        tokenizer: their tokenizer.
        masked_share: share of the tokens that the generator predicts.
    """

    def __init__(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, masked_share: float):
        super().__init__()
        self.encoder = ElectraForPreTraining(config)
        self.generator = ElectraForMaskedLM(generator_config(config))
        shared, own = self.encoder.electra.embeddings, self.generator.electra.embeddings
        own.word_embeddings = shared.word_embeddings
        own.position_embeddings = shared.position_embeddings
        self.generator.generator_lm_head.weight = shared.word_embeddings.weight
        self._masker = _Masker(tokenizer, masked_share, mask_replace_prob=0.85, random_replace_prob=0.0)

    def losses(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Losses:
        """The generator's and the discriminator's loss (see `Objective.losses`)."""
        masked, predicted = self._masker(input_ids)
        hidden = self.generator.electra(input_ids=masked, attention_mask=attention_mask).last_hidden_state
        logits = self.generator.generator_lm_head(self.generator.generator_predictions(hidden[predicted])).float()
        generator_loss = cross_entropy(logits, input_ids[predicted])
        corrupted = input_ids.clone()
        with torch.no_grad():
            corrupted[predicted] = torch.multinomial(logits.softmax(-1), 1)[:, 0]
        hidden = self.encoder.electra(input_ids=corrupted, attention_mask=attention_mask).last_hidden_state
        replaced = (corrupted != input_ids).float()
        read = attention_mask == 1
        discriminator_loss = binary_cross_entropy_with_logits(
            self.encoder.discriminator_predictions(hidden).float()[read], replaced[read]
        )
        return {
            "loss": generator_loss + DISCRIMINATOR_WEIGHT * discriminator_loss,
            "generator_loss": generator_loss,
            "discriminator_loss": discriminator_loss,
        }
