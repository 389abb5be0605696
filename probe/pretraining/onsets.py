"""When topic structure appears in a training, where first, and when the matrices of attention grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANCE = 0.01
"""P-value against permuted labels below which a ratio counts as above chance."""

_EMBEDDINGS, _ATTENTION = ("cosine", "word"), ("attention", "attention")


def find_onsets(ratios: pd.DataFrame) -> pd.DataFrame:
    """When each ratio rises above chance, and when it is half-way to where it ends.

    Args:
        ratios: of several checkpoints: `step, theta, measure, site, ratio, p_value`.

    Returns:
        `theta, measure, site, onset, half`. `onset`: the first step from which on the p-value stays below 0.01.
        `half`: the first step from which on the ratio is above 1 by at least half of what it is at the last step.
        Both are missing where the ratio at the last step is not above chance.
    """
    import pandas as pd

    rows = []
    for (theta, measure, site), group in ratios.groupby(["theta", "measure", "site"], sort=False):
        group = group.sort_values("step")
        last = group["ratio"].iloc[-1]
        onset = _from_then_on(group["step"], group["p_value"] < SIGNIFICANCE)
        half = _from_then_on(group["step"], (group["ratio"] - 1 >= (last - 1) / 2) & (last > 1))
        rows.append(
            {
                "theta": theta,
                "measure": measure,
                "site": site,
                "onset": onset,
                "half": None if onset is None else half,
            }
        )
    return pd.DataFrame(rows).astype({"onset": "Int64", "half": "Int64"})


def _from_then_on(steps: pd.Series, holds: pd.Series) -> int | None:
    """The first step from which on something holds."""
    first = None
    for step, here in zip(steps[::-1], holds[::-1], strict=True):
        if not here:
            break
        first = int(step)
    return first


def find_first(onsets: pd.DataFrame) -> pd.DataFrame:
    """Which comes first, topic structure in the word embeddings (cosine) or in the attention.

    Args:
        onsets: from `find_onsets`.

    Returns:
        `theta, by, embeddings, attention, first`: the steps by `onset` and by `half`, and the earlier one:
        "embeddings", "attention", "together" (at the same checkpoint), or "neither".
    """
    import pandas as pd

    rows = []
    for theta, group in onsets.groupby("theta", sort=False):
        steps = group.set_index(["measure", "site"])
        for by in ("onset", "half"):
            embeddings, attention = steps[by][_EMBEDDINGS], steps[by][_ATTENTION]
            first = _earlier(embeddings, attention)
            rows.append({"theta": theta, "by": by, "embeddings": embeddings, "attention": attention, "first": first})
    return pd.DataFrame(rows).astype({"embeddings": "Int64", "attention": "Int64"})


def _earlier(embeddings: Any, attention: Any) -> str:
    import pandas as pd

    if pd.isna(embeddings) and pd.isna(attention):
        return "neither"
    if pd.isna(attention) or (not pd.isna(embeddings) and embeddings < attention):
        return "embeddings"
    return "attention" if pd.isna(embeddings) or attention < embeddings else "together"


def find_stages(norms: pd.DataFrame) -> pd.DataFrame:
    """When W^K, W^Q and W^V of each layer have made half of their growth (paper, section 5.1 and Figure 5).

    Args:
        norms: `step, layer, matrix, norm`.

    Returns:
        `layer, matrix, start, highest, half`: the first norm, the highest one, and the first step at which the norm
        is half-way from one to the other; missing where it never grows. The highest, since a norm that has grown may
        shrink again.
    """
    import pandas as pd

    rows = []
    for (layer, matrix), group in norms.groupby(["layer", "matrix"], sort=False):
        group = group.sort_values("step")
        start, highest = group["norm"].iloc[0], group["norm"].max()
        reached = group["step"][group["norm"] >= (start + highest) / 2]
        half = int(reached.iloc[0]) if highest > start else None
        rows.append({"layer": layer, "matrix": matrix, "start": start, "highest": highest, "half": half})
    return pd.DataFrame(rows).astype({"half": "Int64"})
