"""W^V and W^E'W^E by loss and optimizer: Figures 1, 2, 9 and 10."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from probe.storage.files import write_csv
from probe.synthetic import figures, theory, verification
from probe.synthetic.measures import value_scores
from probe.synthetic.reproduction.setting import ATTENTION_WITHOUT_BIASES, NEAR_ZERO, Cells, Numbers, Setting
from probe.synthetic.runs import Loss, OptimizerName, Result, Training
from probe.synthetic.transformer import Architecture, Initialization

UNIFORM = Architecture(attention="uniform", biases=False)

RATES: dict[tuple[str, str], tuple[float, ...]] = dict.fromkeys(
    product(("cross-entropy", "squared"), ("sgd", "adam")), (0.01,)
)
"""The paper's rate in all four panels."""
VALUE_RATES: Mapping[tuple[str, str], tuple[float, ...]] = RATES | {
    ("cross-entropy", "sgd"): (0.01, 10.0),
    ("squared", "sgd"): (0.01, 10.0),
}
"""The same, and a rate at which SGD reaches the optimum within the steps taken."""


def four_panels(
    setting: Setting,
    name: str,
    architecture: Architecture,
    l2: float,
    steps: int,
    rates: Mapping[tuple[str, str], tuple[float, ...]],
    start: Initialization,
) -> list[tuple[Loss, OptimizerName, float, Result, int]]:
    """Cross-entropy and squared loss by SGD and Adam, in the paper's order; each rate is a panel."""
    panels: list[tuple[Loss, OptimizerName, float, Result, int]] = []
    losses: tuple[Loss, ...] = ("cross-entropy", "squared")
    optimizers: tuple[OptimizerName, ...] = ("sgd", "adam")
    for loss, optimizer in product(losses, optimizers):
        training = Training(
            loss=loss, optimizer=optimizer, learning_rates=rates[loss, optimizer], l2=l2, steps=steps, log_every=steps
        )
        result = setting.train(f"{name}, {loss}, {optimizer}", architecture, training, start)
        panels += [(loss, optimizer, rate, result, run) for run, (_, rate) in enumerate(result.runs)]
    return panels


def value_rows(
    setting: Setting, panels: list[tuple[Loss, OptimizerName, float, Result, int]], l2: float, embedding: bool = False
) -> tuple[list[Cells], list[tuple[str, Numbers]]]:
    """A row of block means and scores, and a matrix, for each panel."""
    rows, shown = [], []
    expected = theory.theorem2(setting.model, setting.masking)
    gap = theory.embedding_gap(setting.model, setting.masking)
    optimum = verification.finite_length_value(setting.model, setting.masking, max(l2, 1e-9))
    finite = value_scores(optimum[None], setting.model.topic_of_token)
    for loss, optimizer, rate, result, run in panels:
        matrix = result.embedding_products()[run] if embedding else result.value()[run]
        scores = value_scores(matrix[None], setting.model.topic_of_token)
        own = loss == "squared" and not embedding
        rows.append(
            {
                "loss": loss,
                "optimizer": optimizer,
                "learning_rate": rate,
                "l2": l2,
                "development_loss": result.development_loss[run],
                "mask_column": scores.mask_column[0],
                "diagonal": scores.diagonal[0],
                "same_topic_different_word": scores.same_topic[0],
                "same_topic": scores.block_mean[0],
                "different_topic": scores.different_topic[0],
                "gap": scores.block_mean[0] - scores.different_topic[0],
                "block_score": scores.block_score[0],
                "diagonal_score": scores.diagonal_score[0],
                "theorem_gap": gap if loss == "squared" else None,
                "theorem2_mask_column": expected.mask_column if own else None,
                "theorem2_same_topic": expected.same_topic if own else None,
                "theorem2_different_topic": expected.different_topic if own else None,
                "finite_length_mask_column": finite.mask_column[0] if own else None,
                "finite_length_same_topic": finite.block_mean[0] if own else None,
                "finite_length_different_topic": finite.different_topic[0] if own else None,
            }
        )
        shown.append((f"{loss}, {optimizer.upper() if optimizer == 'sgd' else 'Adam'} {rate:g}", matrix))
    return rows, shown


def figure1(setting: Setting) -> None:
    """E = W^E'W^E with every part trained."""
    architecture = Architecture(embedding="trained", head="tied")
    rates: Mapping[tuple[str, str], tuple[float, ...]] = RATES | {
        ("cross-entropy", "sgd"): (0.01, 0.3),
        ("squared", "sgd"): (0.01, 0.3),
    }
    panels = four_panels(setting, "Figure 1", architecture, 0.0, 1000, rates, Initialization(embedding_scale=0.1))
    rows, shown = value_rows(setting, panels, 0.0, embedding=True)
    write_csv(setting.out / "figure1.csv", rows)
    figures.matrices(setting.out / "figure1", shown, "E")


def figure2(setting: Setting) -> None:
    """W^V under uniform attention, with mild regularization."""
    panels = four_panels(setting, "Figure 2", UNIFORM, 1e-5, 3000, VALUE_RATES, NEAR_ZERO)
    rows, shown = value_rows(setting, panels, 1e-5)
    write_csv(setting.out / "figure2.csv", rows)
    figures.matrices(setting.out / "figure2", shown, "W^V")


def figure9(setting: Setting) -> None:
    """W^V under uniform attention, without regularization, from torch's default initialization."""
    panels = four_panels(setting, "Figure 9", UNIFORM, 0.0, 3000, VALUE_RATES, Initialization())
    rows, shown = value_rows(setting, panels, 0.0)
    write_csv(setting.out / "figure9.csv", rows)
    figures.matrices(setting.out / "figure9", shown, "W^V")


def figure10(setting: Setting) -> None:
    """W^V trained together with W^K and W^Q, with mild regularization.

    Without b^V, under which SGD diverges on the squared loss at any rate that reaches the optimum in these steps.
    """
    panels = four_panels(setting, "Figure 10", ATTENTION_WITHOUT_BIASES, 1e-5, 1500, VALUE_RATES, NEAR_ZERO)
    rows, shown = value_rows(setting, panels, 1e-5)
    write_csv(setting.out / "figure10.csv", rows)
    figures.matrices(setting.out / "figure10", shown, "W^V")
