"""The theorems' optima found without their formulas: least squares, simulation, literal sums, a search."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from probe.errors import ProbeError
from probe.synthetic.theory import MaskKeys, TokenShares, ValueKind, Values, attention_loss
from probe.synthetic.topic_model import Documents, Masking, TopicModel, mask_documents

ENUMERATED_DOCUMENTS = 2000


def exact_documents(model: TopicModel) -> Values:
    """p_w of Assumption 1's documents, [documents, T·v + 1]; column 0 is 0.

    All T-choose-τ of them where they are few, else 4·T drawn at random.
    """
    tau, v, topics = model.topics_per_document, model.words_per_topic, model.topics
    if tau is None:
        raise ProbeError("Exact documents hold a fixed number of topics: give τ.")
    if comb(topics, tau) <= ENUMERATED_DOCUMENTS:
        chosen = np.array(list(combinations(range(topics), tau)))
    else:
        chosen = np.argsort(np.random.default_rng(0).random((4 * topics, topics)), axis=1)[:, :tau]
    held = np.zeros((len(chosen), topics))
    np.put_along_axis(held, chosen, 1 / (tau * v), axis=1)
    return np.concatenate([np.zeros((len(chosen), 1)), np.repeat(held, v, axis=1)], axis=1)


def mask_exactly(documents: Values, masking: Masking) -> Values:
    """p_w̃ of infinitely long documents, step by step as in section 3.2, [documents, T·v + 1]."""
    words = documents.shape[1] - 1
    masked = masking.p_mask * documents
    seen = (documents - masked) + masking.p_correct * masked
    seen[:, 1:] += masking.p_random * masked.sum(axis=1, keepdims=True) / words
    seen[:, 0] += masking.p_token * masked.sum(axis=1)
    return seen


def least_squares_value(model: TopicModel, masking: Masking, rows: list[int] | None = None) -> Values:
    """The minimum-norm W of least squares over exact documents, which is λ → 0 of Theorem 2's objective.

    Under uniform attention a document's prediction is W·p_w̃, and its mean label is p_w.

    Args:
        model: The topic model, with τ below T (all documents of τ = T are alike and determine no W).
        masking: p_m, p_c, p_r.
        rows: Rows of W to solve for; all by default.

    Returns:
        W, [rows, T·v + 1].

    Raises:
        ProbeError: τ is T.
    """
    if model.topics_per_document == model.topics:
        raise ProbeError(
            f"Documents of all {model.topics} topics are alike and determine no value matrix: give τ below T."
        )
    labels = exact_documents(model)
    inputs = mask_exactly(labels, masking)
    wanted = labels if rows is None else labels[:, rows]
    return np.asarray((np.linalg.pinv(inputs, rcond=1e-9) @ wanted).T)


def finite_length_value(model: TopicModel, masking: Masking, l2: float) -> Values:
    """The minimizer of the population squared loss + λ‖W‖²_F at the model's own finite lengths N.

    From the second moments of x = X̃·1/N: tokens are independent given the document's topics, so
    E[x x'] = diag(E[p_w̃])/N + (1 - 1/N)·E[p_w̃ p_w̃'], and likewise for a predicted label and x, where the
    label's own position shows its word with p_c. A trained W^V is compared at the length it was trained at.

    Args:
        model: The topic model (exactly τ topics, or Dirichlet).
        masking: p_m, p_c, p_r.
        l2: λ, above 0.

    Returns:
        W, [T·v + 1, T·v + 1].
    """
    topics, words = model.topics, model.vocabulary - 1
    if model.topics_per_document is None:
        alpha, total = model.alpha, model.alpha * topics
        same, other = alpha * (alpha + 1) / (total * (total + 1)), alpha**2 / (total * (total + 1))
    else:
        tau = model.topics_per_document
        same = 1 / (topics * tau)
        other = (tau - 1) / (topics * (topics - 1) * tau)
    topic = model.topic_of_token[1:]
    second = np.zeros((words + 1, words + 1))
    second[1:, 1:] = np.where(topic[:, None] == topic[None, :], same, other) / model.words_per_topic**2
    mean = np.concatenate([[0.0], np.full(words, 1 / words)])

    def show(masked: bool) -> Values:
        """Transition from a word to what its position shows, [shown, word]."""
        if not masked:
            return np.eye(words + 1)
        shown = masking.p_correct * np.eye(words + 1)
        shown[1:, 1:] += masking.p_random / words
        shown[0, 1:] += masking.p_token
        return shown

    any_position = (1 - masking.p_mask) * show(False) + masking.p_mask * show(True)
    inputs = np.zeros_like(second)
    labels = np.zeros_like(second)
    lengths = np.arange(model.lengths[0], model.lengths[1] + 1)
    for length in lengths:
        inputs += np.diag(any_position @ mean) / length
        inputs += (1 - 1 / length) * any_position @ second @ any_position.T
        # Equation 1 divides by |M|, so labels weigh by document; other positions are masked (m - 1)/(N - 1).
        drawn = masking.p_mask * length / (1 - (1 - masking.p_mask) ** length)
        labels += np.diag(mean) @ show(True).T / length
        others = ((drawn - 1) * show(True) + (length - drawn) * show(False)) / length
        labels += second @ others.T
    inputs, labels = inputs / len(lengths), labels / len(lengths)
    return np.asarray(np.linalg.solve(inputs + l2 * np.eye(words + 1), labels.T).T)


def simulated_shares(model: TopicModel, masking: Masking, length: int, random_state: int) -> TokenShares:
    """Proposition 1's three shares, counted in one masked document of topics 0 .. τ-1."""
    documents, masked = _long_document(model, masking, length, random_state)
    tau, v = model.topics_per_document or 0, model.words_per_topic
    share = np.bincount(masked, minlength=documents.vocabulary) / length
    absent = share[tau * v + 1 :]
    return TokenShares(
        float(share[1 : tau * v + 1].mean()), float(absent.mean()) if len(absent) else 0.0, float(share[0])
    )


def simulated_normalizers(
    alpha: float,
    beta: float,
    model: TopicModel,
    masking: Masking,
    length: int,
    random_state: int,
    hide_mask: bool,
) -> tuple[float, float]:
    """Proposition 2's z_1 and z_2 = 1/(N·c_3), counted position by position in one masked document.

    Args:
        alpha: Attention to other words of the query's topic.
        beta: Attention to the query's own word.
        model: The topic model, with τ below T.
        masking: p_m, p_c, p_r.
        length: Positions of the document.
        random_state: Seed.
        hide_mask: Whether positions that show [MASK] take no attention.
    """
    _, masked = _long_document(model, masking, length, random_state)
    topic = model.topic_of_token
    tau, v = model.topics_per_document or 0, model.words_per_topic
    sums = []
    for query in (1, tau * v + 1):
        weight = np.ones(length)
        weight[topic[masked] == topic[query]] = alpha
        weight[masked == query] = beta
        if hide_mask:
            weight[masked == 0] = 0.0
        sums.append(float(weight.sum() / length))
    return sums[0], sums[1]


def _long_document(model: TopicModel, masking: Masking, length: int, random_state: int) -> tuple[Documents, np.ndarray]:
    random = np.random.default_rng(random_state)
    tau, v = model.topics_per_document or 0, model.words_per_topic
    words = random.integers(1, tau * v + 1, size=length)
    documents = Documents(words, np.array([length]), model.vocabulary)
    return documents, mask_documents(documents, masking, random).tokens


def literal_attention_loss(
    alpha: float,
    beta: float,
    model: TopicModel,
    masking: Masking,
    value: Values,
    mask_keys: MaskKeys,
) -> float:
    """L(α, β) by its definition: every query word, every label, every entry of W^V·X̃A (the slow reference).

    By symmetry one document stands for all: the one of topics 0 .. τ-1.

    Args:
        alpha: Attention to other words of the query's topic.
        beta: Attention to the query's own word.
        model: The topic model, with τ.
        masking: p_m, p_c, p_r.
        value: W^V, [T·v + 1, T·v + 1].
        mask_keys: As in `theory.attention_loss`.
    """
    topic = model.topic_of_token
    tau, v, words = model.topics_per_document or 0, model.words_per_topic, model.vocabulary - 1
    document = np.zeros((1, words + 1))
    document[0, 1 : tau * v + 1] = 1 / (tau * v)
    share = mask_exactly(document, masking)[0]
    total = 0.0
    for query in range(1, words + 1):
        attended = share.copy()
        for key in range(1, words + 1):
            if key == query:
                attended[key] *= beta
            elif topic[key] == topic[query]:
                attended[key] *= alpha
        if mask_keys != "attended":
            attended[0] = 0.0
        attended /= attended.sum()
        if mask_keys == "printed":
            attended[0] = share[0]
        output = value @ attended
        for label in range(1, tau * v + 1):
            probability = masking.p_correct * (label == query) + masking.p_random / words
            target = np.zeros(words + 1)
            target[label] = 1.0
            total += document[0, label] * probability * float(((output - target) ** 2).sum())
    return total


@dataclass(frozen=True)
class AttentionOptimum:
    """A minimizer of L(α, β) and γ = (v-1)/v·α + β/v there."""

    alpha: float
    beta: float
    gamma: float
    loss: float


def best_attention(
    model: TopicModel, masking: Masking, value: ValueKind, mask_keys: MaskKeys = "attended"
) -> AttentionOptimum:
    """Minimize L(α, β) over α, β >= 0 by a search that assumes nothing of the theorems.

    A logarithmic grid with zeros, then a simplex search from its best point. Under block W^V only γ matters
    (Remark 5); the α = β of that γ is returned.
    """
    from scipy.optimize import minimize

    v = model.words_per_topic
    top = 1e6 * v * model.topics

    def loss(alpha: float, beta: float) -> float:
        return float(attention_loss(alpha, beta, model, masking, value, mask_keys))

    grid = np.concatenate([[0.0], np.geomspace(1e-4, top, 241)])
    if value == "block":
        start = grid[int(np.argmin(attention_loss(grid, grid, model, masking, value, mask_keys)))]
        found = minimize(
            lambda x: loss(np.exp(x[0]), np.exp(x[0])),
            [np.log(max(start, 1e-4))],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-15},
        )
        gamma = float(np.exp(found.x[0]))
        return AttentionOptimum(gamma, gamma, gamma, float(found.fun))
    surface = attention_loss(grid[:, None], grid[None, :], model, masking, value, mask_keys)
    row, column = np.unravel_index(int(np.argmin(surface)), surface.shape)
    scale = max(float(grid[column]), 1e-4)
    found = minimize(
        lambda x: loss(abs(x[0]) * scale, abs(x[1]) * scale),
        [float(grid[row]) / scale, 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000},
    )
    alpha, beta = (float(abs(x)) * scale for x in found.x)
    edge = loss(0.0, beta)
    if edge <= found.fun + 1e-14:
        alpha = 0.0
    return AttentionOptimum(alpha, beta, (v - 1) / v * alpha + beta / v, min(edge, float(found.fun)))
