"""The paper's closed forms: optimal embeddings, value matrices and attention (Theorems 1 to 5, Lemma 1).

Notation as in the paper: T topics of v words, τ topics a document, p_m, p_c, p_r; and a = 1 - (1 - p_c)·p_m,
the share of positions that still show their word (random hits apart), whose inverse is c_3 and c_4.
`verification` finds the same optima without these formulas.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probe.errors import ProbeError
from probe.synthetic.topic_model import Masking, TopicModel

Values = NDArray[np.float64]
ValueKind = Literal["block", "diagonal"]
MaskKeys = Literal["attended", "hidden", "printed"]


def kept_share(masking: Masking) -> float:
    """The a = 1 - (1 - p_c)·p_m of every theorem."""
    return 1 - (1 - masking.p_correct) * masking.p_mask


@dataclass(frozen=True)
class ValueOptimum:
    """Entries of the optimal W^V of Theorem 2; its row 0 is zero.

    Attributes:
        mask_column: W^V_{i0}, what seeing [MASK] adds to word i.
        same_topic: W^V_{il} of two words of one topic, i = l included.
        different_topic: W^V_{il} of two words of different topics.
    """

    mask_column: float
    same_topic: float
    different_topic: float

    def matrix(self, model: TopicModel, rows: list[int] | None = None) -> Values:
        """W^V*, [T·v + 1, T·v + 1], or some of its rows."""
        topic = model.topic_of_token
        chosen = np.arange(model.vocabulary) if rows is None else np.array(rows)
        value = np.where(topic[chosen, None] == topic[None, :], self.same_topic, self.different_topic)
        value[:, 0] = self.mask_column
        value[chosen == 0] = 0.0
        return value


def theorem2(model: TopicModel, masking: Masking) -> ValueOptimum:
    """The optimal W^V under uniform attention, squared loss and vanishing λ‖W^V‖²_F (Theorem 2)."""
    words = model.vocabulary - 1
    c1 = masking.p_random / (masking.p_token * kept_share(masking) * words)
    c2 = 1 / (masking.p_token * masking.p_mask) - 1
    c3 = 1 / kept_share(masking)
    different = -(c1 * c2 + c3) / (c2**2 + words)
    return ValueOptimum(
        mask_column=(c2 * c3 - c1 * words) / (c2**2 + words),
        same_topic=different + c3 / model.words_per_topic,
        different_topic=different,
    )


def embedding_gap(model: TopicModel, masking: Masking) -> float:
    """How far same-topic entries of E = W^E'W^E exceed different-topic ones on average (Theorem 1, point 3).

    1 / (v·(1 - (1 - p_c)·p_m)); Lemma 1 and Theorem 4 give the same gap for W^V.
    """
    return 1 / (model.words_per_topic * kept_share(masking))


def theorem1_bias(model: TopicModel, masking: Masking) -> Values:
    """The b^pred of Theorem 1, [T·v + 1]; entry 0 is 0, as in the restatement in Appendix B."""
    bias = np.full(
        model.vocabulary,
        -masking.p_mask * masking.p_random / (kept_share(masking) * (model.vocabulary - 1)),
    )
    bias[0] = 0.0
    return bias


def optimality_violation(matrix: Values, model: TopicModel, masking: Masking, prediction_bias: bool = False) -> float:
    """How far a matrix is from the set of optima under uniform attention: the largest violated equation.

    The set is Lemma 1's (and Theorem 4's, for W^V); with `prediction_bias` it is Theorem 1's, for E. Its free
    constants u_i are read off the matrix: the mean block sum of row i over the topics that i is not of.

    Args:
        matrix: W or E, [T·v + 1, T·v + 1].
        model: The topic model; its τ does not matter, as long as 1 <= τ < T.
        masking: p_m, p_c, p_r.
        prediction_bias: Whether b^pred is that of Theorem 1 instead of 0.

    Raises:
        ProbeError: A matrix of another shape.
    """
    size = model.vocabulary
    if matrix.shape != (size, size):
        raise ProbeError(f"A matrix of shape {matrix.shape} has no such optimum: give [{size}, {size}].")
    v, kept = model.words_per_topic, kept_share(masking)
    sums = matrix[:, 1:].reshape(size, model.topics, v).sum(axis=2)
    own = model.topic_of_token[:, None] == np.arange(model.topics)[None, :]
    u = np.where(own, 0.0, sums).sum(axis=1) / (~own).sum(axis=1) / v
    c1 = 0.0 if prediction_bias else masking.p_random / (masking.p_token * kept * (size - 1))
    column = -np.where(np.arange(size) == 0, 0.0, c1) - (1 / (masking.p_mask * masking.p_token) - 1) * u
    expected = u[:, None] * v + np.where(own, 1 / kept, 0.0)
    return float(max(np.abs(sums - expected).max(), np.abs(matrix[:, 0] - column).max()))


def diagonal_value(model: TopicModel, masking: Masking) -> Values:
    """D^V of Definition 2: the optimum of Theorem 4 without entries between different words.

    Off-diagonal zeros make every u_i zero, so the diagonal is 1/a and the mask column is -c_1.
    """
    kept, words = kept_share(masking), model.vocabulary - 1
    value = np.eye(model.vocabulary) / kept
    value[0, 0] = 0.0
    value[1:, 0] = -masking.p_random / (masking.p_token * kept * words)
    return value


@dataclass(frozen=True)
class Bounds:
    """An open interval (low, high)."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high


def _tau(model: TopicModel) -> int:
    if model.topics_per_document is None:
        raise ProbeError("Theorems 3 and 5 need the number of topics in a document: give τ.")
    return model.topics_per_document


def theorem3(model: TopicModel, masking: Masking, from_proof: bool = False) -> Bounds:
    """Bounds on γ = (v-1)/v·α + β/v under block W^V: (λ_1(τ-1), λ_2·T) (Theorem 3).

    Args:
        model: The topic model, with τ.
        masking: p_m, p_c, p_r.
        from_proof: Take the lower constant that the proof in Appendix D.3 derives,
            (a + p_m·p_r)(2a - 1)/(2a); the statement prints (a + p_m·p_r)(2 - a)/(2a).
    """
    kept, noise = kept_share(masking), masking.p_mask * masking.p_random
    factor = 2 * kept - 1 if from_proof else 2 - kept
    high = float("inf") if noise == 0 else 100 * (kept / noise + 1) * model.topics
    return Bounds((kept + noise) * factor / (2 * kept) * (_tau(model) - 1), high)


@dataclass(frozen=True)
class DiagonalBounds:
    """Theorem 5: beta lies in `beta`, and alpha < alpha_over_beta · beta."""

    beta: Bounds
    alpha_over_beta: float


def theorem5(model: TopicModel, masking: Masking) -> DiagonalBounds:
    """Bounds on (α, β) under diagonal W^V (Theorem 5).

    Raises:
        ProbeError: So few words a topic that λ_4 is not positive; Assumption 3 asks for v > (1/a + 1)² + 1.
    """
    kept, noise, v = kept_share(masking), masking.p_mask * masking.p_random, model.words_per_topic
    room = sqrt(v - 1) - 1 - kept
    if room <= 0:
        enough = (1 / kept + 1) ** 2 + 1
        raise ProbeError(f"Theorem 5 has no upper bound at {v} words per topic: give v above {enough:.2f}.")
    high = float("inf") if noise == 0 else kept / room * (kept + noise) / noise * v * model.topics
    return DiagonalBounds(Bounds((kept + noise) / 100 * v * _tau(model), high), 1 / ((v - 1) * kept))


@dataclass(frozen=True)
class TokenShares:
    """Proposition 1: the share of positions that one token holds in a masked document.

    Attributes:
        present: A word of a topic in the document, p_1 (equation D.18).
        absent: A word of any other topic, p_2 (equation D.19).
        mask: [MASK].
    """

    present: float
    absent: float
    mask: float


def proposition1(model: TopicModel, masking: Masking) -> TokenShares:
    """Shares of the tokens in a masked document (Proposition 1, equation D.17)."""
    absent = masking.p_mask * masking.p_random / (model.vocabulary - 1)
    present = kept_share(masking) / (model.words_per_topic * _tau(model)) + absent
    return TokenShares(present, absent, masking.p_mask * masking.p_token)


def proposition2(
    alpha: ArrayLike, beta: ArrayLike, model: TopicModel, masking: Masking, mask_keys: MaskKeys = "printed"
) -> tuple[Values, Values]:
    """z_1 and z_2: 1/(N·c_3) for a query word of a topic in the document, and of a topic outside it.

    As printed (Proposition 2) the sum runs over words only, so it normalizes attention over positions that
    show words ("printed", "hidden"). Under equation 5 a query attends to [MASK] positions too, with c_3 by
    Assumption 2, which adds their share ("attended").
    """
    share, tau, v = proposition1(model, masking), _tau(model), model.words_per_topic
    alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
    own = beta + alpha * (v - 1)
    extra = share.mask if mask_keys == "attended" else 0.0
    z1 = share.present * (own + v * (tau - 1)) + share.absent * v * (model.topics - tau) + extra
    z2 = share.absent * (own + v * (model.topics - tau - 1)) + share.present * v * tau + extra
    return z1, z2


def attention_loss(
    alpha: ArrayLike,
    beta: ArrayLike,
    model: TopicModel,
    masking: Masking,
    value: ValueKind,
    mask_keys: MaskKeys = "attended",
) -> Values:
    """L(α, β) at finite T and τ: equation D.21 (block W^V) or D.31 (diagonal W^V), no term dropped.

    The loss of the predicted positions that show a word, per predicted position, under Assumption 2. The
    proofs add up the same cases; their limit T, τ → ∞ is not taken here.

    Args:
        alpha: Attention to other words of the query's topic, over that to different topics; any shape.
        beta: Attention to the query's own word, over that to different topics.
        model: The topic model, with τ.
        masking: p_m, p_c, p_r.
        value: W^V frozen to Theorem 2's blocks or to the diagonal of Definition 2.
        mask_keys: "attended": [MASK] keys take attention c_3, as equation 5 and Assumption 2 say. "hidden":
            they take none. "printed": as the proofs compute it, which leave [MASK] out of the normalization
            (Proposition 2) and yet keep in q(x) the p_m(1 - p_c - p_r) that it holds under uniform attention.

    Returns:
        The loss, in the broadcast shape of alpha and beta.
    """
    share, tau, v, topics = proposition1(model, masking), _tau(model), model.words_per_topic, model.topics
    alpha, beta = np.broadcast_arrays(np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float))
    optimum = theorem2(model, masking)
    kept, words = kept_share(masking), model.vocabulary - 1

    def predictions(own: Values, other: Values, present: Values, absent: Values, mask: Values) -> list[Values]:
        """Output for the query's word, its topic's other words, words of other topics in and out."""
        if value == "diagonal":
            shift = -masking.p_random / (masking.p_token * kept * words) * mask
            return [entry / kept + shift for entry in (own, other, present, absent)]
        if mask_keys == "printed":
            shift = -masking.p_mask * masking.p_random / (kept * words) * np.ones_like(own)
        else:
            shift = optimum.mask_column * mask + optimum.different_topic * (1 - mask)
        mean = (own + (v - 1) * other) / v
        return [entry / kept + shift for entry in (mean, mean, present, absent)]

    z1, z2 = proposition2(alpha, beta, model, masking, mask_keys)
    mask1, mask2 = {
        "attended": (share.mask / z1, share.mask / z2),
        "hidden": (np.zeros_like(z1), np.zeros_like(z2)),
        "printed": (np.full_like(z1, share.mask), np.full_like(z2, share.mask)),
    }[mask_keys]
    present, absent = share.present, share.absent
    inside = predictions(present * beta / z1, present * alpha / z1, present / z1, absent / z1, mask1)
    outside = predictions(absent * beta / z2, absent * alpha / z2, present / z2, absent / z2, mask2)

    def squared(entries: list[Values], present_words: int) -> Values:
        sizes = (1, v - 1, present_words, words - v - present_words)
        return np.sum([size * entry**2 for size, entry in zip(sizes, entries, strict=True)], axis=0)

    p_c, p_r = masking.p_correct, masking.p_random
    case_inside = squared(inside, v * (tau - 1))
    loss = (p_c + p_r / words) * (1 - 2 * inside[0] + case_inside)
    loss = loss + p_r / topics * (1 - 1 / v) * (1 - 2 * inside[1] + case_inside)
    loss = loss + p_r * (tau - 1) / topics * (1 - 2 * inside[2] + case_inside)
    if tau < topics:
        loss = loss + p_r * (1 - tau / topics) * (1 - 2 * outside[2] + squared(outside, v * tau))
    return np.asarray(loss)
