"""The topic model is gensim's to the byte, repeatable, and its quality is measured rightly."""

import signal
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from probe.errors import ProbeError
from probe.topics.lda import agreement, fit_lda, npmi, npmi_literal, recovery
from probe.topics.settings import LdaSettings

needs_tomotopy = pytest.mark.skipif(find_spec("tomotopy") is None, reason="tomotopy is an extra")
ENGINES = ("gensim", pytest.param("tomotopy", marks=needs_tomotopy))


def small(engine: str = "gensim", **changes: object) -> LdaSettings:
    return LdaSettings(**({"engine": engine, "topics": 5, "chunksize": 16, "iterations": 30} | changes))


@pytest.fixture(scope="module")
def planted() -> tuple[csr_matrix, np.ndarray]:
    """300 documents of 40 words drawn from 5 topics, and the topics."""
    random = np.random.default_rng(3)
    topics = random.dirichlet(np.full(100, 0.05), size=5)
    shares = random.dirichlet(np.full(5, 0.1), size=300)
    return csr_matrix(np.array([random.multinomial(40, share @ topics) for share in shares])), topics


@pytest.mark.parametrize("engine", ENGINES)
def test_planted_topics_are_recovered(engine, planted):
    bags, topics = planted
    assert recovery(fit_lda(bags, small(engine, passes=5)), topics) > 0.8


@pytest.mark.parametrize("engine", ENGINES)
def test_one_seed_gives_the_same_bytes_and_another_seed_others(engine, planted):
    bags, _ = planted
    first = fit_lda(bags, small(engine))
    assert first.tobytes() == fit_lda(bags, small(engine)).tobytes()
    assert first.tobytes() != fit_lda(bags, small(engine, random_state=1)).tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_every_topic_is_a_distribution_over_the_whole_dictionary(engine, planted):
    bags = planted[0].tolil()
    bags[7] = 0  # a document without words
    bags[:, 50] = 0  # a word without documents
    bags[:, 99] = 0
    topics = fit_lda(bags.tocsr(), small(engine))
    assert topics.shape == (5, 100)
    assert (topics >= 0).all()
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, "symmetric", "asymmetric", "auto"])
@pytest.mark.parametrize("eta", [0.02, "auto"])
def test_the_lean_model_is_gensims_own_to_the_byte(alpha, eta, planted):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel
    from gensim.utils import FakeDict

    bags, _ = planted
    own = LdaModel(
        Sparse2Corpus(bags, documents_columns=False),
        id2word=FakeDict(100),
        num_topics=5,
        passes=2,
        chunksize=16,
        alpha=alpha,
        eta=eta,
        iterations=30,
        eval_every=None,
        random_state=4,
    ).get_topics()
    fitted = fit_lda(bags, small(passes=2, alpha=alpha, eta=eta, random_state=4))
    own = own.astype(np.float64)
    assert fitted.tobytes() == (own / own.sum(axis=1, keepdims=True)).tobytes()


@needs_tomotopy
def test_sweep_by_sweep_is_one_run_of_the_sampler(planted):
    import tomotopy

    bags, _ = planted
    model = tomotopy.LDAModel(k=5, alpha=1 / 5, eta=0.01, seed=4)
    for row in bags.toarray():
        model.add_doc([str(word) for word in np.repeat(np.arange(100), row)])
    model.train(30, workers=1)
    own = np.zeros((5, 100))
    own[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(topic) for topic in range(5)]
    fitted = fit_lda(bags, small("tomotopy", alpha="auto", eta=0.01, random_state=4))
    np.testing.assert_allclose(fitted, own, rtol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_and_the_type_of_the_entries_do_not_matter_and_the_bags_stay_as_they_were(engine, planted):
    bags, _ = planted
    shuffled = bags.copy().astype(np.float64)
    for start, end in zip(bags.indptr[:-1], bags.indptr[1:], strict=True):
        shuffled.indices[start:end] = bags.indices[start:end][::-1]
        shuffled.data[start:end] = bags.data[start:end][::-1]
    shuffled.has_sorted_indices = False
    shuffled.has_canonical_format = False
    before = shuffled.indices.copy()
    assert fit_lda(shuffled, small(engine)).tobytes() == fit_lda(bags, small(engine)).tobytes()
    np.testing.assert_array_equal(shuffled.indices, before)


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_rises_from_0_to_1_and_changes_nothing(engine, planted):
    bags, _ = planted
    shares: list[float] = []
    watched = fit_lda(bags, small(engine), shares.append)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert watched.tobytes() == fit_lda(bags, small(engine)).tobytes()


@pytest.fixture
def _interruptible():
    """A job in the background of a shell ignores Ctrl-C, and so would the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_the_fit(engine, planted):
    def interrupt(share: float) -> None:
        if share > 0.3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit_lda(planted[0], small(engine), interrupt)


@pytest.mark.parametrize(
    "change",
    [
        {"engine": "mallet"},
        {"topics": 1},
        {"topics": 2.5},
        {"passes": 0},
        {"chunksize": 0},
        {"iterations": 0},
        {"alpha": 0},
        {"alpha": -0.1},
        {"alpha": float("nan")},
        {"alpha": "automatic"},
        {"eta": float("inf")},
        {"eta": "asymmetric"},
        {"engine": "tomotopy", "eta": "auto"},
        {"random_state": -1},
        {"random_state": 2**32},
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(change):
    with pytest.raises(ProbeError, match=list(change)[-1]) as refusal:
        LdaSettings(**change)
    assert_one_sentence(refusal.value)


@pytest.mark.parametrize(
    ("bags", "reason"),
    [
        ([[1.0, 0.5], [2.0, 1.0]], "counts, not weights"),
        ([[1.0, np.nan], [2.0, 1.0]], "not finite"),
        ([[1, -1], [2, 1]], "negative"),
        ([[0, 0], [0, 0]], "No document holds a word"),
        ([[1, 1], [0, 0]], "2 topics cannot be told apart in 1 documents"),
    ],
)
def test_bags_that_are_no_counts_or_too_few_are_refused(bags, reason):
    with pytest.raises(ProbeError, match=reason) as refusal:
        fit_lda(csr_matrix(np.array(bags)), LdaSettings(topics=2))
    assert_one_sentence(refusal.value)


def test_a_missing_tomotopy_names_the_extra(monkeypatch, planted):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(ProbeError, match=r'pip install "topic-probe\[tomotopy\]"') as refusal:
        fit_lda(planted[0], small("tomotopy"))
    assert_one_sentence(refusal.value)


def assert_one_sentence(refusal: ProbeError) -> None:
    assert str(refusal).endswith(".")
    assert ". " not in str(refusal)


def test_the_record_of_the_settings_says_how_many_iterations():
    assert asdict(LdaSettings())["iterations"] > 0
    assert LdaSettings(engine="tomotopy").iterations != LdaSettings().iterations


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 9), st.integers(1, 4), st.integers(2, 4))
def test_npmi_equals_the_literal_one(seed, documents, words, topics, top):
    random = np.random.default_rng(seed)
    bags = csr_matrix(random.poisson(0.7, size=(documents, words)))
    likelihoods = random.integers(0, 4, size=(topics, words)) / 10  # ties happen
    assert npmi(likelihoods, bags, top) == pytest.approx(npmi_literal(likelihoods, bags, top), abs=1e-12)


def test_npmi_is_1_for_words_that_come_together_and_minus_1_for_words_that_never_do():
    bags = csr_matrix(np.array([[3, 1, 0, 0], [0, 0, 1, 2]]))
    together, apart = np.array([[0.5, 0.4, 0.1, 0.0]]), np.array([[0.5, 0.0, 0.4, 0.1]])
    assert npmi(together, bags, top=2) == pytest.approx(1)
    assert npmi(apart, bags, top=2) == -1


def test_recovery_and_agreement_do_not_depend_on_the_order_of_topics(planted):
    _, topics = planted
    assert recovery(topics[[3, 1, 4, 0, 2]], topics) == 1
    assert agreement(topics[[3, 1, 4, 0, 2]], topics) == 1


def test_recovery_counts_the_words_of_the_best_matching():
    planted = np.array([[4, 3, 2, 1, 0, 0, 0, 0], [0, 0, 0, 0, 4, 3, 2, 1]]) / 10
    fitted = np.array([[0, 0, 1, 2, 3, 4, 0, 0], [4, 3, 0, 0, 0, 0, 2, 1]]) / 10
    # Each fitted topic shares two words with either planted one: half of the eight, whatever the matching.
    assert recovery(fitted, planted, top=4) == 0.5
    assert agreement(fitted, planted, top=4) == pytest.approx(2 / 6)
    assert recovery(fitted[:1], planted, top=4) == 0.25


def test_importing_the_module_loads_neither_gensim_nor_scipy():
    code = (
        "import sys, probe.topics.lda; sys.exit(any(name in sys.modules for name in ('gensim', 'scipy', 'tomotopy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
