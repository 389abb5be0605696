"""A ratio with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
# A mean is clearly away from zero when it is this many of its bootstrap deviations away: at the 2 that a 95 %
# interval asks for, one in twenty means of pure noise would make a ratio of no meaning.
_CLEAR = 4.0


@dataclass(frozen=True)
class Estimate:
    """A same-topic mean over a different-topic mean, with what is known of its uncertainty.

    Attributes:
        same, different: the two means.
        same_pairs, different_pairs: how many pairs they are made of.
        same_draws, different_draws: [resamples] bootstrap draws of the means.
        null: [resamples] same-topic and different-topic means under permuted topic labels; None where there is no
            such null.
        frequency_null: the same with labels permuted among words of like frequency.
        no_ratio: why there is no ratio by construction; empty where there is one.
    """

    same: float
    different: float
    same_pairs: int
    different_pairs: int
    same_draws: np.ndarray
    different_draws: np.ndarray
    null: tuple[np.ndarray, np.ndarray] | None = None
    frequency_null: tuple[np.ndarray, np.ndarray] | None = None
    no_ratio: str = ""

    @property
    def withheld(self) -> str:
        """Why the ratio has no meaning; empty where it has one."""
        if self.no_ratio:
            return self.no_ratio
        if not self.same_pairs:
            return "no same-topic pair"
        if not self.different_pairs:
            return "no different-topic pair"
        if not np.isfinite(ratio_draws(self)).any():
            return "its pairs lie in one document or have no match, so no interval can be drawn"
        finite = self.different_draws[np.isfinite(self.different_draws)]
        low, high = interval(finite)
        deviation = float(finite.std()) if len(finite) else np.inf
        if not (low > 0 or high < 0) or abs(self.different) < _CLEAR * deviation:
            return "the different-topic mean is not clearly away from zero"
        return ""

    @property
    def ratio(self) -> float:
        """Same-topic mean over different-topic mean; NaN where withheld."""
        return self.same / self.different if not self.withheld else np.nan


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The central 95 % of some draws; NaN where there are none."""
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return np.nan, np.nan
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def ratio_draws(estimate: Estimate) -> np.ndarray:
    """[resamples] bootstrap draws of the ratio."""
    return divide(estimate.same_draws, estimate.different_draws)


def null_ratios(null: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """[resamples] ratios under permuted labels."""
    return divide(*null)


def p_value(observed: float, null: np.ndarray) -> float:
    """One-sided p-value: how often permuted labels give as much, the observed labels counted in.

    Args:
        observed: the statistic under the real labels.
        null: [resamples] the statistic under permuted labels.
    """
    null = null[np.isfinite(null)]
    if not np.isfinite(observed) or not len(null):
        return np.nan
    return float((1 + (null >= observed).sum()) / (1 + len(null)))


def divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Element by element; NaN where there is nothing to divide by."""
    above, below = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below != 0)
