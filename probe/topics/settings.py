"""How the topic model is fitted, checked; light enough for the command line's help."""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe.errors import ProbeError

ALPHA_NAMES = ("symmetric", "asymmetric", "auto")
ETA_NAMES = ("symmetric", "auto")
DEFAULT_ITERATIONS = {"gensim": 100, "tomotopy": 200}
ENGINES = tuple(DEFAULT_ITERATIONS)


@dataclass(frozen=True)
class LdaSettings:
    """How the topic model is fitted; the names are gensim's.

    Attributes:
        engine: ``gensim`` (online variational Bayes; Hoffman, Blei and Bach, 2010) or ``tomotopy`` (collapsed
            Gibbs sampling, an extra of this distribution).
        topics: Number of topics T.
        passes: Passes of gensim through the documents; tomotopy does not use it.
        chunksize: Documents gensim reads between two updates of the topics; tomotopy does not use it.
        alpha: Dirichlet prior of a document's topics: one number for all topics, or ``symmetric`` (1/T),
            ``asymmetric``, ``auto`` (learned).
        eta: Dirichlet prior of a topic's words: a number, or ``symmetric`` (1/T), ``auto`` (learned; only by
            gensim).
        iterations: gensim: most rounds of inference a document gets in a pass; tomotopy: sweeps of the
            sampler over the corpus.
        random_state: Seed.

    Raises:
        ProbeError: A value cannot be used.
    """

    engine: str = "gensim"
    topics: int = 100
    passes: int = 1
    chunksize: int = 128
    alpha: float | str = 0.1
    eta: float | str = 0.01
    iterations: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ProbeError(f"There is no LDA engine {self.engine!r}; name one of {', '.join(ENGINES)}.")
        _require_whole("topics", self.topics, 2)
        _require_whole("passes", self.passes, 1)
        _require_whole("chunksize", self.chunksize, 1)
        if self.iterations is None:  # settled here, so that a record of the settings says what was done
            object.__setattr__(self, "iterations", DEFAULT_ITERATIONS[self.engine])
        _require_whole("iterations", self.iterations, 1)
        _require_whole("random_state", self.random_state, 0)
        if self.random_state >= 2**32:
            raise ProbeError(f"The LDA's random_state is {self.random_state}; give one below 2**32.")
        _require_prior("alpha", self.alpha, ALPHA_NAMES)
        _require_prior("eta", self.eta, ETA_NAMES)
        if self.engine == "tomotopy" and self.eta == "auto":
            raise ProbeError("tomotopy does not learn eta; give the LDA's eta as a number.")


def _require_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ProbeError(f"The LDA's {name} is {value!r}; give a whole number of at least {least}.")


def _require_prior(name: str, value: float | str, names: tuple[str, ...]) -> None:
    usable = value in names if isinstance(value, str) else math.isfinite(value) and value > 0
    if not usable:
        raise ProbeError(f"The LDA's {name} is {value!r}; give a number above 0 or one of {', '.join(names)}.")
