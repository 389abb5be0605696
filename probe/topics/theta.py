"""The ambiguity threshold theta, and how many words of a topic it keeps (paper, appendix E.3)."""

from __future__ import annotations

from fractions import Fraction

from probe.errors import ProbeError

THETAS = (0.0005, 0.001, 0.002)
"""The paper's thresholds."""


def check_theta(theta: float) -> None:
    """Refuse a theta that is no share of the vocabulary.

    Raises:
        ProbeError: theta is not strictly between 0 and 1.
    """
    if not 0 < theta < 1:
        raise ProbeError(
            f"--theta {theta:g} is not a share of the vocabulary: use a number above 0 and below 1, such as 0.001."
        )


def words_per_topic(theta: float, n: int) -> int:
    """K = floor(theta * n) + 1, exactly (0.001 times 29,000 is 29, not 28.999...).

    Args:
        theta: ambiguity threshold.
        n: size of the LDA dictionary.

    Raises:
        ProbeError: theta is not strictly between 0 and 1.
    """
    check_theta(theta)
    return min(int(Fraction(str(theta)) * n) + 1, n)
