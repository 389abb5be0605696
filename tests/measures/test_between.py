"""The attention between chosen words equals transformers' own eager maps, debiased."""

import numpy as np
import pytest
import torch
import transformers

from probe.measures.between import attention_between


@pytest.mark.parametrize("case", ["bert", "albert", "gpt2", "t5"], indirect=True)
def test_it_equals_eager_maps(case, tiny_models, request):
    folder = str(tiny_models(request.node.callspec.params["case"]))
    chosen = np.arange(5)
    batch = case.maker()(chosen)
    columns = np.tile([3, 0, 1, -1], (5, 1))
    columns = np.where(columns < (batch.words >= 0).sum(dim=1).numpy()[:, None], columns, -1)
    found = attention_between(case.model, batch, columns)
    eager = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    eager = getattr(eager, "encoder", eager) if case.model.family.encoder_decoder else eager
    assert (columns >= 0).sum() >= 10
    for row, length in enumerate(batch.lengths.tolist()):
        ids = batch.input_ids[row : row + 1, :length]
        with torch.inference_mode():
            maps = torch.stack(eager(ids, output_attentions=True).attentions)[:, 0].numpy()
        for i, query in enumerate(columns[row]):
            for j, key in enumerate(columns[row]):
                q, k = (int(batch.rows[row, max(column, 0)]) for column in (query, key))
                if min(query, key) < 0 or (case.model.causal and k >= q):
                    assert np.isnan(found[row, :, :, i, j]).all()
                    continue
                seen = q + 1 if case.model.causal else length
                np.testing.assert_allclose(found[row, :, :, i, j], maps[:, :, q, k] * seen / 100, rtol=1e-4, atol=1e-6)
