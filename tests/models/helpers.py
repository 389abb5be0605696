"""What the tests of models share."""

import pytest
import torch

from probe.errors import ProbeError
from probe.models.loading import load_model
from probe.models.sources import find_model


def refusal(call, *arguments, **options) -> str:
    """The sentence with which a call is refused."""
    with pytest.raises(ProbeError) as refused:
        call(*arguments, **options)
    message = str(refused.value)
    assert "\n" not in message and message.endswith((".", "?"))
    return message


def load(folder):
    return load_model(find_model(str(folder)))


IDS = torch.arange(10, 22)[None]


def heard(model) -> torch.Tensor:
    """Attention of one passage: [layers, 1, heads, length, length]."""
    places = torch.arange(IDS.shape[1])[None]
    maps = []
    model.listen(IDS, torch.ones_like(IDS), lambda layer, call: maps.append(call.between(slice(None), places, places)))
    return torch.stack(maps)
