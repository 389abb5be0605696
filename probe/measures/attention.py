"""Average attention between words of one topic and words of different topics (paper, section 6.2 and appendix E.3).

Attention is debiased for length: in a passage of L tokens it is multiplied by L / 100, so that its mean over the
passage is 1/100. Under causal attention row i spreads over the keys it can see, so it is multiplied by their
number / 100 instead, and only keys before the query count.

Sums are taken over ordered pairs (query, key) of occurrences of different words that carry topics. They add up over
batches; means and ratios are made from them at the end.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch

from probe.errors import ProbeError
from probe.measures.batches import Batch, BatchMaker
from probe.measures.pairs import DIFFERENT, SAME, TopicPairs
from probe.models.families import first_layer, measured_stack
from probe.models.interface import listening
from probe.models.loading import LoadedModel

NORMAL_LENGTH = 100


@dataclass
class AttentionSums:
    """Sufficient statistics of one pass of a model over the passages.

    Columns alternate same-topic and different-topic for each of C assignments. W is the number of labelled words.

    Attributes:
        layers: [layers, heads, 2 C] debiased attention.
        documents: [documents, 2 C] debiased attention, averaged over heads and layers.
        document_pairs: [documents, 2 C] number of ordered pairs.
        table: [W (W - 1) / 2] debiased attention of each unordered pair of words (both directions), averaged over
            heads and layers.
        table_pairs: [W (W - 1) / 2] number of ordered pairs.
        vectors: [W, width] sum of the embedding layer's output over occurrences of each word.
        directions: [W, width] sum of the same outputs, each of unit length.
        occurrences: [W] number of occurrences in the probed passages.
        batches: how many batches have been read.
    """

    layers: np.ndarray
    documents: np.ndarray
    document_pairs: np.ndarray
    table: np.ndarray
    table_pairs: np.ndarray
    vectors: np.ndarray
    directions: np.ndarray
    occurrences: np.ndarray
    batches: np.ndarray

    def save(self, path: Path) -> None:
        """Write the sums; the file is there whole or not at all."""
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        seen = np.flatnonzero(self.table_pairs)
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content |= {"table": self.table[seen], "table_pairs": self.table_pairs[seen], "seen": seen}
        content["size"] = np.array(len(self.table))
        try:
            with temporary.open("wb") as file:
                np.savez(file, **content)
            temporary.replace(path)
        except OSError as error:
            raise ProbeError(
                f"Finished work cannot be kept in {path.parent} ({error.strerror or error}): name another folder "
                "with --cache DIR or free some space."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> AttentionSums | None:
        """Read sums that `save` wrote; None where there are none or the file is damaged."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            for name in ("table", "table_pairs"):
                full = np.zeros(int(arrays["size"]), dtype=arrays[name].dtype)
                full[arrays["seen"]] = arrays[name]
                arrays[name] = full
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})
        except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
            return None


class _AllHeardError(Exception):
    """Every layer that is asked for has been heard: the rest of the forward pass is not needed."""


class AttentionReader:
    """Listens to a model's attention layers and adds up what they give to pairs of words.

    Args:
        model: the model it listens to.
        pairs: classes of the pairs.
        documents: number of probed documents.
    """

    def __init__(self, model: LoadedModel, pairs: TopicPairs, documents: int, start: AttentionSums | None = None):
        self._model = model
        self._device = next(model.module.parameters()).device
        self._code = torch.from_numpy(pairs.code).to(self._device)
        self._classes = torch.from_numpy(pairs.classes.astype(np.float32)).to(self._device)
        self._surface = torch.from_numpy(pairs.surface.astype(np.int64)).to(self._device)
        size, columns = len(pairs), pairs.classes.shape[1]
        triangle = size * (size - 1) // 2
        if start is None:
            start = AttentionSums(
                layers=np.zeros((model.layers, model.heads, columns)),
                documents=np.zeros((documents, columns)),
                document_pairs=np.zeros((documents, columns), dtype=np.int64),
                table=np.zeros(triangle, dtype=np.float32),
                table_pairs=np.zeros(triangle, dtype=np.int32),
                vectors=np.zeros((size, 0)),
                directions=np.zeros((size, 0)),
                occurrences=np.zeros(size, dtype=np.int64),
                batches=np.zeros(1, dtype=np.int64),
            )
        self._sums = {
            field.name: torch.from_numpy(getattr(start, field.name)).to(self._device) for field in fields(start)
        }
        self._call = 0

    def sums(self) -> AttentionSums:
        """What has been added up so far (on the CPU it shares the reader's memory)."""
        return AttentionSums(**{name: tensor.cpu().numpy() for name, tensor in self._sums.items()})

    @torch.inference_mode()
    def read(self, batch: Batch) -> None:
        """Run the model on a batch and add what its layers give to the pairs of words in it."""
        self._begin(batch)
        if self._known.any():
            stack = measured_stack(self._model.module, self._model.family)
            hook = first_layer(stack, self._model.family, self._model.layers).register_forward_pre_hook(
                self._embedding_output, with_kwargs=True
            )
            try:
                with listening(self):
                    self._run(stack, batch)
            except _AllHeardError:
                pass
            finally:
                hook.remove()
            if self._call != self._model.layers:
                raise ProbeError(
                    f"{self._model.name} gave {self._call} attention maps instead of {self._model.layers}: its "
                    "architecture is not supported."
                )
            self._end(batch)
        self._sums["batches"] += 1

    def _run(self, stack: torch.nn.Module, batch: Batch) -> None:
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        if self._model.family.interface:
            stack(**inputs)
        else:
            for attention in stack(**inputs, output_attentions=True).attentions:
                rows = batch.rows[:, None, :, None].expand(-1, attention.shape[1], -1, attention.shape[3])
                self._add(attention.gather(2, rows).float())

    def _begin(self, batch: Batch) -> None:
        self._batch, self._call = batch, 0
        self._known = batch.words >= 0
        words = batch.words.clamp(min=0)
        self._pair_known = self._known[:, :, None] & self._known[:, None, :]
        if self._model.family.causal:
            self._pair_known &= batch.rows[:, None, :] < batch.rows[:, :, None]
            self._debias = (batch.rows + 1)[:, :, None] / NORMAL_LENGTH
        else:
            self._debias = batch.lengths[:, None, None] / NORMAL_LENGTH
        code = self._code[words[:, :, None], words[:, None, :]]
        # [batch, rows * keys, 2 C]: 1 where the pair is in the class.
        self._weights = (self._classes[code] * self._pair_known[..., None]).flatten(1, 2)
        self._attention: torch.Tensor | None = None

    def _embedding_output(self, module: torch.nn.Module, args: tuple, kwargs: dict) -> None:
        del module
        hidden = args[0] if args else kwargs["hidden_states"]
        if self._call:
            return
        width = hidden.shape[-1]
        if not self._sums["vectors"].shape[1]:
            for name in ("vectors", "directions"):
                self._sums[name] = torch.zeros(
                    len(self._sums["occurrences"]), width, dtype=torch.float64, device=self._device
                )
        words = self._batch.words[self._known]
        found = hidden.gather(1, self._batch.rows[:, :, None].expand(-1, -1, width))[self._known].double()
        self._sums["vectors"].index_add_(0, words, found)
        self._sums["directions"].index_add_(0, words, torch.nn.functional.normalize(found, dim=-1))
        self._sums["occurrences"].index_add_(0, words, torch.ones_like(words))

    def hear(
        self,
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        mask: torch.Tensor | None,
        scaling: float | None,
        is_causal: bool | None,
        position_bias: torch.Tensor | None,
    ) -> None:
        """Add one layer's attention (see `probe.models.interface.Listener`)."""
        rows = self._batch.rows
        heads, width = query.shape[1], query.shape[3]
        asked = query.gather(2, rows[:, None, :, None].expand(-1, heads, -1, width))
        if key.shape[1] != heads:
            key = key.repeat_interleave(heads // key.shape[1], dim=1)
        scores = torch.matmul(asked, key.transpose(2, 3)).float()
        scores *= width**-0.5 if scaling is None else scaling
        if position_bias is not None:
            scores += _of_rows(position_bias, rows)
        if mask is None:
            is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
            if is_causal and query.shape[2] > 1:
                ahead = torch.arange(key.shape[2], device=rows.device) > rows[:, :, None]
                scores.masked_fill_(ahead[:, None], -torch.inf)
        elif mask.dtype == torch.bool:
            scores.masked_fill_(~_of_rows(mask, rows), -torch.inf)
        else:
            scores += _of_rows(mask, rows)
        self._add(torch.softmax(scores, dim=-1))
        if self._call == self._model.layers:
            raise _AllHeardError

    def _add(self, attention: torch.Tensor) -> None:
        """Add one layer's attention.

        Args:
            attention: [batch, heads, rows, length], the rows of labelled queries.
        """
        _, heads, rows, _ = attention.shape
        keys = self._batch.rows[:, None, None, :].expand(-1, heads, rows, -1)
        attention = attention.gather(3, keys) * self._debias[:, None]
        by_class = torch.bmm(attention.flatten(2), self._weights)
        if self._call < self._model.layers:
            self._sums["layers"][self._call] += by_class.sum(0)
        over_heads = attention.sum(1)
        self._attention = over_heads if self._attention is None else self._attention.add_(over_heads)
        self._call += 1

    def _end(self, batch: Batch) -> None:
        assert self._attention is not None
        mean = self._attention / (self._model.layers * self._model.heads)
        flat = mean.flatten(1)[:, None].double()
        self._sums["documents"].index_add_(0, batch.documents, torch.bmm(flat, self._weights.double())[:, 0])
        self._sums["document_pairs"].index_add_(0, batch.documents, self._weights.sum(1).long())
        surface = self._surface[batch.words.clamp(min=0)]
        counted = self._pair_known & (surface[:, :, None] != surface[:, None, :])
        query = batch.words[:, :, None].expand_as(mean)[counted]
        key = batch.words[:, None, :].expand_as(mean)[counted]
        high, low = torch.maximum(query, key), torch.minimum(query, key)
        place = high * (high - 1) // 2 + low
        self._sums["table"].index_add_(0, place, mean[counted])
        self._sums["table_pairs"].index_add_(0, place, torch.ones_like(place, dtype=torch.int32))


def _of_rows(full: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The labelled queries' rows of a mask or bias broadcastable to [batch, heads, queries, keys]."""
    if full.shape[2] == 1:
        return full
    if full.shape[0] == 1:
        full = full.expand(len(rows), -1, -1, -1)
    return full.gather(2, rows[:, None, :, None].expand(-1, full.shape[1], -1, full.shape[3]))


def measure_attention(
    model: LoadedModel,
    batch_maker: BatchMaker,
    batches: Sequence[np.ndarray],
    pairs: TopicPairs,
    *,
    start: AttentionSums | None = None,
    after_batch: Callable[[AttentionReader, int], None] | None = None,
) -> AttentionSums:
    """Read a model's attention over all batches, in one forward pass each.

    Args:
        model: the model.
        batch_maker: of the probed passages.
        batches: indices of passages.
        pairs: classes of the pairs.
        start: sums of the first batches, to go on from.
        after_batch: called with the reader and the number of batches read.
    """
    reader = AttentionReader(model, pairs, len(batch_maker.probed_documents), start)
    done = int(start.batches[0]) if start is not None else 0
    for number, chosen in enumerate(batches[done:], start=done + 1):
        reader.read(batch_maker(chosen))
        if after_batch:
            after_batch(reader, number)
    return reader.sums()


def attention_sums_literal(
    maps: np.ndarray, words: Sequence[int], states: np.ndarray, causal: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of one passage, pair by pair, from the definition.

    Args:
        maps: [layers, heads, L, L] attention of one passage without padding.
        words: [L] the labelled word at each position; -1 for none.
        states: [W, W] the class of each pair of labelled words.
        causal: debias each row by the keys it sees, and count earlier keys alone.

    Returns:
        [layers, heads, 2] debiased sums, same-topic and different-topic; [2] number of ordered pairs.
    """
    layers, heads, length, _ = maps.shape
    sums, counts = np.zeros((layers, heads, 2)), np.zeros(2, dtype=np.int64)
    for column, state in enumerate((SAME, DIFFERENT)):
        for i in range(length):
            for j in range(length):
                if words[i] < 0 or words[j] < 0 or (causal and j >= i):
                    continue
                if states[words[i], words[j]] == state:
                    counts[column] += 1
                    for layer in range(layers):
                        for head in range(heads):
                            spread = i + 1 if causal else length
                            sums[layer, head, column] += maps[layer, head, i, j] * spread / 100
    return sums, counts
