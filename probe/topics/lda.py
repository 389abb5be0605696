"""Fit the topic model (latent Dirichlet allocation) on bags of words, and measure how good its topics are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from probe.errors import ProbeError
from probe.topics.settings import LdaSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Progress = Callable[[float], None]


def fit_lda(bags: csr_matrix, settings: LdaSettings, progress: Progress | None = None) -> np.ndarray:
    """Fit the topics of a corpus.

    The same bags and settings give the same bytes.

    Args:
        bags: Word counts, [documents, n] over the LDA dictionary (counts, never weights such as TF-IDF).
        settings: How to fit.
        progress: Called now and then with the share that is done, from 0 to 1.

    Returns:
        p(word | topic), [topics, n], float64; every row sums to 1.

    Raises:
        ProbeError: The bags cannot be used, or the engine is not installed.
    """
    bags = _checked(bags, settings)
    report = progress or _silent
    report(0.0)
    likelihoods = (
        _fit_tomotopy(bags, settings, report) if settings.engine == "tomotopy" else _fit_gensim(bags, settings, report)
    )
    report(1.0)
    likelihoods = likelihoods.astype(np.float64)
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)


def _silent(share: float) -> None:
    del share


def _checked(bags: csr_matrix, settings: LdaSettings) -> csr_matrix:
    """Return the bags with sorted, distinct, non-zero entries, or refuse them."""
    from scipy.sparse import csr_matrix

    counts = csr_matrix(bags)
    if not np.isfinite(counts.data).all():
        raise ProbeError("The bags of words hold a number that is not finite; count the words anew.")
    if (counts.data < 0).any():
        raise ProbeError("The bags of words hold a negative number; LDA reads counts of words.")
    if (counts.data != np.floor(counts.data)).any():
        raise ProbeError("The bags of words hold fractions, but LDA reads counts, not weights such as TF-IDF.")
    if not (counts.has_canonical_format and counts.data.all()):
        counts = counts.copy()  # the caller's bags stay as they are
        counts.sum_duplicates()
        counts.eliminate_zeros()
    if counts.nnz == 0:
        raise ProbeError("No document holds a word of the LDA dictionary; give a corpus with more text.")
    filled = int((np.diff(counts.indptr) > 0).sum())
    if settings.topics > filled:
        raise ProbeError(
            f"{settings.topics} topics cannot be told apart in {filled} documents that hold words; "
            "give more documents or fewer topics."
        )
    return counts


class _Stream:
    """A corpus as gensim reads it, pass after pass; reading it reports the progress."""

    def __init__(self, bags: csr_matrix, passes: int, report: Progress) -> None:
        self._bags = bags
        self._total = passes * bags.shape[0]
        self._read = 0
        self._report = report
        self._every = max(1, self._total // 1000)

    def __len__(self) -> int:
        return int(self._bags.shape[0])

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for start, end in pairwise(self._bags.indptr):
            yield list(zip(self._bags.indices[start:end].tolist(), self._bags.data[start:end].tolist(), strict=True))
            self._read += 1
            if self._read % self._every == 0:
                self._report(self._read / self._total)


def _fit_gensim(bags: csr_matrix, settings: LdaSettings, report: Progress) -> np.ndarray:
    from gensim.models import LdaModel
    from gensim.utils import FakeDict

    class LeanLdaModel(LdaModel):
        """gensim's model without what its M step computes only to log: half of the step's time."""

        def do_mstep(self, rho: float, other: Any, extra_pass: bool = False) -> None:
            self.state.blend(rho, other)
            self.sync_state()
            if self.optimize_eta:
                self.update_eta(self.state.get_lambda(), rho)
            if not extra_pass:
                self.num_updates += other.numdocs

    # Not LdaMulticore: it adds up its workers' chunks as they arrive, so its topics change from run to run.
    model = LeanLdaModel(
        corpus=_Stream(bags, settings.passes, report),
        id2word=FakeDict(bags.shape[1]),
        num_topics=settings.topics,
        passes=settings.passes,
        chunksize=settings.chunksize,
        alpha=settings.alpha,
        eta=settings.eta,
        iterations=settings.iterations,
        random_state=settings.random_state,
        eval_every=None,  # the perplexity of a chunk costs time and is not read
    )
    return model.get_topics()


def _fit_tomotopy(bags: csr_matrix, settings: LdaSettings, report: Progress) -> np.ndarray:
    try:
        import tomotopy
    except ImportError as error:
        raise ProbeError(
            'The LDA engine tomotopy is not installed; run pip install "topic-probe[tomotopy]" or use gensim.'
        ) from error

    topics, words = settings.topics, bags.shape[1]
    alpha: Any = settings.alpha
    if isinstance(alpha, str):
        alpha = 1 / topics
        if settings.alpha == "asymmetric":
            weights = 1 / (np.arange(topics) + math.sqrt(topics))
            alpha = (weights / weights.sum()).tolist()
    eta = 1 / topics if isinstance(settings.eta, str) else settings.eta
    model = tomotopy.LDAModel(k=topics, alpha=alpha, eta=eta, seed=settings.random_state)
    model.optim_interval = 10 if settings.alpha == "auto" else 0
    names = [str(word) for word in range(words)]
    for start, end in pairwise(bags.indptr):
        ids = np.repeat(bags.indices[start:end], bags.data[start:end].astype(np.int64))
        if len(ids):
            model.add_doc([names[word] for word in ids])
    sweeps = cast(int, settings.iterations)
    for sweep in range(sweeps):
        # One sweep a call, so that Ctrl-C is heard; one worker, since more share their counts as they please.
        model.train(1, workers=1)
        report((sweep + 1) / sweeps)
    likelihoods = np.zeros((topics, words))
    columns = [int(name) for name in model.used_vocabs]
    for topic in range(topics):
        likelihoods[topic, columns] = model.get_topic_word_dist(topic)
    return likelihoods


def top_words(topics: np.ndarray, top: int = 10) -> np.ndarray:
    """Return the columns of the words a topic holds likeliest, [topics, top], likeliest first."""
    return np.argsort(-topics, axis=1, kind="stable")[:, :top]


def npmi(topics: np.ndarray, bags: csr_matrix, top: int = 10) -> float:
    """Mean normalized pointwise mutual information of the pairs among a topic's top words.

    A pair's NPMI is log(p(i, j) / (p(i) p(j))) / -log p(i, j), with p the share of documents that hold the
    word or both; -1 where no document holds both, 1 where all do (Bouma, 2009).

    Args:
        topics: p(word | topic), [topics, n].
        bags: Word counts, [documents, n].
        top: Words of a topic that are paired.

    Returns:
        The mean over topics and pairs, between -1 and 1.
    """
    from scipy.sparse import csc_matrix

    words = top_words(topics, top)
    used, places = np.unique(words, return_inverse=True)
    places = places.reshape(words.shape)
    present = csc_matrix(bags)[:, used] > 0
    together = (present.T.astype(np.float64) @ present.astype(np.float64)).toarray() / bags.shape[0]
    first, second = np.triu_indices(words.shape[1], 1)
    i, j = places[:, first], places[:, second]
    alone = np.diag(together)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(together[i, j] / (alone[i] * alone[j])) / -np.log(together[i, j])
    values = np.where(together[i, j] == 0, -1.0, np.where(together[i, j] == 1, 1.0, values))
    return float(values.mean())


def npmi_literal(topics: np.ndarray, bags: csr_matrix, top: int = 10) -> float:
    """Compute :func:`npmi` pair by pair and document by document: slow, and plainly what it says."""
    documents = [set(np.flatnonzero(row).tolist()) for row in bags.toarray()]
    values = []
    for row in topics:
        words = sorted(range(len(row)), key=lambda word: (-row[word], word))[:top]
        for place, i in enumerate(words):
            for j in words[place + 1 :]:
                both = sum(i in document and j in document for document in documents) / len(documents)
                p_i = sum(i in document for document in documents) / len(documents)
                p_j = sum(j in document for document in documents) / len(documents)
                if both == 0:
                    values.append(-1.0)
                elif both == 1:
                    values.append(1.0)
                else:
                    values.append(math.log(both / (p_i * p_j)) / -math.log(both))
    return sum(values) / len(values)


def _matched_overlaps(first: np.ndarray, second: np.ndarray, top: int) -> np.ndarray:
    """Count the top words that topics share under the one-to-one matching that shares most."""
    from scipy.optimize import linear_sum_assignment

    tops_first, tops_second = np.zeros(first.shape), np.zeros(second.shape)
    np.put_along_axis(tops_first, top_words(first, top), 1, axis=1)
    np.put_along_axis(tops_second, top_words(second, top), 1, axis=1)
    overlaps = tops_first @ tops_second.T
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return overlaps[rows, columns]


def recovery(fitted: np.ndarray, planted: np.ndarray, top: int = 10) -> float:
    """Share of the planted topics' top words that the fitted topics hold among theirs.

    Topics are matched one to one so that they share most.

    Args:
        fitted: p(word | topic) as fitted, [topics, n].
        planted: p(word | topic) that made the data, [planted topics, n].
        top: Words of a topic that are compared.

    Returns:
        A share between 0 and 1.
    """
    return float(_matched_overlaps(fitted, planted, top).sum() / (len(planted) * top))


def agreement(first: np.ndarray, second: np.ndarray, top: int = 10) -> float:
    """Mean Jaccard index of the top words of two fits' topics, matched one to one so that they share most.

    Args:
        first: p(word | topic) of one fit, [topics, n].
        second: p(word | topic) of another, [topics, n].
        top: Words of a topic that are compared.

    Returns:
        The mean, between 0 and 1.
    """
    shared = _matched_overlaps(first, second, top)
    return float((shared / (2 * top - shared)).mean())
