"""Attention of every head between chosen words of a passage, kept as it is (nothing is summed)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from probe.measures.attention import debiased
from probe.measures.protocol import Occurrences
from probe.measures.reading import find_occurrences

if TYPE_CHECKING:
    from probe.measures.batches import Batch
    from probe.models.eager import Map
    from probe.models.interface import Call
    from probe.models.loaded import LoadedModel


@torch.inference_mode()
def attention_between(model: LoadedModel, batch: Batch, chosen: np.ndarray) -> np.ndarray:
    """Debiased attention between words, by layer and head.

    Args:
        model: the model.
        batch: of passages.
        chosen: [batch, words] which of each passage's words, by their order in it; -1 where there are fewer.

    Returns:
        [batch, layers, heads, words, words] float32, from query to key: 1/100 is the average over a passage (over the
        keys that are seen, under causal attention). NaN where there is no such word, or the key is not before the
        query of a causal model.
    """
    here = find_occurrences(batch, model.stack)
    columns = torch.from_numpy(np.asarray(chosen, dtype=np.int64)).to(here.queries.device)
    picked = columns.clamp(min=0)
    known = (columns >= 0) & here.known.gather(1, picked)
    queries, keys = (places.gather(1, picked) for places in (here.queries, here.keys))
    pooling = here.pooling.chosen(picked) if here.pooling else None
    here, debias = debiased(Occurrences(batch, known, queries, keys, pooling), causal=model.causal)
    counted = known[:, :, None] & known[:, None, :]
    if model.causal:
        counted &= keys[:, None, :] < queries[:, :, None]
    size, words = chosen.shape
    maps = torch.zeros(size, model.layers, model.heads, words, words)

    def hear(layer: int, call: Call | Map) -> None:
        found = here.attention(call, slice(0, size)) * debias[:, None]
        maps[:, layer] = found.masked_fill(~counted[:, None], torch.nan).float().cpu()

    model.listen(batch.input_ids, batch.attention_mask, hear)
    return maps.numpy()
