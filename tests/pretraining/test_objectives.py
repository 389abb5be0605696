from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probe.pretraining.architectures import FAMILIES, Size, bare_model, encoder_config
from probe.pretraining.objectives import DISCRIMINATOR_WEIGHT, INFILLED_SHARE, infill, make_objective

SIZE = Size(width=32, embedding=16, layers=2, heads=2, vocabulary=600)
MASK = -1


@pytest.fixture
def objective_of(tokenizers):
    def make(family):
        torch.manual_seed(3)
        tokenizer = tokenizers[family]
        return make_objective(family, encoder_config(family, SIZE, tokenizer, 64), tokenizer)

    return make


@pytest.fixture
def batch_of(tokenizers, texts):
    def make(family, longer=0):
        batch = tokenizers[family](
            [text[:150] for text in texts[:6]],
            truncation=True,
            max_length=48,
            padding="max_length",
            return_tensors="pt",
        )
        ids, mask = batch["input_ids"], batch["attention_mask"]
        mask = torch.nn.functional.pad(mask, (0, longer))
        return torch.nn.functional.pad(ids, (0, longer), value=tokenizers[family].pad_token_id), mask

    return make


@pytest.mark.parametrize("family", ["bert", "albert", "roberta"])
def test_the_loss_is_that_of_the_whole_model_on_the_same_masks(objective_of, batch_of, family):
    objective, (ids, mask) = objective_of(family), batch_of(family)
    torch.manual_seed(5)
    loss = objective.losses(ids, mask)["loss"]
    torch.manual_seed(5)
    masked, predicted = objective._masker(ids)
    labels = ids.masked_fill(~predicted, -100)
    expected = objective.encoder(input_ids=masked, attention_mask=mask, labels=labels).loss
    torch.testing.assert_close(loss, expected)


def test_masks_hide_four_tenths_of_the_text_and_mostly_by_the_mask_token(objective_of, batch_of, tokenizers):
    objective, (ids, mask) = objective_of("bert"), batch_of("bert")
    ids, mask = ids.repeat(60, 1), mask.repeat(60, 1)
    torch.manual_seed(5)
    masked, predicted = objective._masker(ids)
    text = ~torch.isin(ids, torch.tensor(tokenizers["bert"].all_special_ids))
    assert not (predicted & ~text).any() and (masked == ids)[~predicted].all()
    assert predicted.sum() / text.sum() == pytest.approx(0.4, abs=0.01)
    assert (masked == tokenizers["bert"].mask_token_id)[predicted].float().mean() == pytest.approx(0.8, abs=0.04)
    assert (masked == ids)[predicted].float().mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_weight_of_the_kept_model_but_a_pooler_is_trained(objective_of, batch_of, family):
    objective = objective_of(family)
    torch.manual_seed(5)
    objective.losses(*batch_of(family))["loss"].backward()
    untrained = {name for name, value in bare_model(objective.encoder).named_parameters() if value.grad is None}
    assert all("pooler" in name for name in untrained)


@given(st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_infilling_keeps_the_rest_in_order_and_hides_three_tenths(length, seed):
    body = np.arange(length)
    filled = infill(body, MASK, np.random.default_rng(seed))
    kept = filled[filled != MASK]
    assert (np.diff(kept) > 0).all()
    assert len(body) - len(kept) == round(INFILLED_SHARE * length)
    # What lies between two masks in a row of the text is whole.
    for here, after in pairwise(filled):
        assert MASK in (here, after) or after == here + 1


def test_spans_are_three_tokens_long_on_average():
    random = np.random.default_rng(0)
    masks = sum((infill(np.arange(4000), MASK, random) == MASK).sum() for _ in range(20))
    assert 20 * 1200 / masks == pytest.approx(3, rel=0.05)


def test_bart_writes_the_whole_passage_from_the_infilled_one(objective_of, batch_of):
    objective, (ids, mask) = objective_of("bart"), batch_of("bart")
    seen = {}
    objective.encoder.register_forward_pre_hook(lambda module, args, kwargs: seen.update(kwargs), with_kwargs=True)
    torch.manual_seed(5)
    objective.losses(ids, mask)
    assert (seen["labels"][mask == 1] == ids[mask == 1]).all() and (seen["labels"][mask == 0] == -100).all()
    assert (seen["input_ids"][:, 0] == ids[:, 0]).all()
    assert seen["attention_mask"].sum() < mask.sum()


def test_electra_shares_its_embeddings_and_weighs_its_discriminator(objective_of, batch_of):
    objective = objective_of("electra")
    generator, discriminator = objective.generator.electra.embeddings, objective.encoder.electra.embeddings
    assert generator.word_embeddings.weight is discriminator.word_embeddings.weight
    assert objective.generator.generator_lm_head.weight is discriminator.word_embeddings.weight
    torch.manual_seed(5)
    losses = objective.losses(*batch_of("electra"))
    expected = losses["generator_loss"] + DISCRIMINATOR_WEIGHT * losses["discriminator_loss"]
    torch.testing.assert_close(losses["loss"], expected)


def test_a_token_the_generator_guesses_right_counts_as_original(objective_of, batch_of, tokenizers):
    objective, (ids, mask) = objective_of("electra"), batch_of("electra")
    # A generator that always says "the", and a discriminator that knows it.
    the = tokenizers["electra"].convert_tokens_to_ids("the")
    objective.generator.generator_lm_head.bias.data[the] = 1e4
    ids = torch.where(torch.isin(ids, torch.tensor(tokenizers["electra"].all_special_ids)), ids, the)
    final = objective.encoder.discriminator_predictions.dense_prediction
    final.weight.data.zero_()
    final.bias.data.fill_(-20.0)
    assert objective.losses(ids, mask)["discriminator_loss"] < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_changes_no_loss(objective_of, batch_of, family):
    objective = objective_of(family)
    losses = []
    for longer in (0, 9):
        ids, mask = batch_of(family, longer)
        if family == "bart":
            torch.manual_seed(5)
            losses.append(objective.losses(ids, mask)["loss"])
        else:
            # The masks depend on the shape; hide nothing but what is the same in both.
            predicted = (mask == 1) & (torch.arange(mask.shape[1]) % 7 == 3) & (ids != ids[0, 0])
            objective._masker = lambda ids, predicted=predicted: (ids.clone(), predicted)
            torch.manual_seed(5)
            losses.append(objective.losses(ids, mask)["loss"])
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_that_is_read_again_and_again_is_learned(objective_of, batch_of, family):
    objective, batch = objective_of(family), batch_of(family)
    optimizer = torch.optim.Adam(objective.parameters(), lr=5e-3)
    losses = []
    for _ in range(80):
        torch.manual_seed(5)
        loss = objective.losses(*batch)["loss"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.6 * losses[0]
