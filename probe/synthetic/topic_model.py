"""Documents drawn from a topic model, and their masking (paper, sections 3.1 and 3.2)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.errors import ProbeError
from probe.storage.files import whole_file

MASK = 0
"""The token [MASK]; the words are 1 .. T·v (paper, section 3.2)."""


@dataclass(frozen=True)
class TopicModel:
    """T disjoint topics of v equally likely words each (paper, section 3.1).

    Attributes:
        topics: T.
        words_per_topic: v.
        topics_per_document: τ distinct topics in every document, equally likely (section 3.1); None draws a
            document's topic distribution from a Dirichlet instead (section 6.1).
        alpha: Concentration of the symmetric Dirichlet; not used with τ.
        lengths: Shortest and longest document N, both included, uniform in between.

    Raises:
        ProbeError: A number that makes no topic model.
    """

    topics: int = 10
    words_per_topic: int = 10
    topics_per_document: int | None = None
    alpha: float = 0.1
    lengths: tuple[int, int] = (100, 150)

    def __post_init__(self) -> None:
        if self.topics < 2:
            raise ProbeError(f"{self.topics} topic leaves nothing to tell apart: give T of 2 or more.")
        if self.words_per_topic < 2:
            raise ProbeError(f"{self.words_per_topic} word per topic leaves no pair of one topic: give v of 2 or more.")
        tau = self.topics_per_document
        if tau is not None and not 1 <= tau <= self.topics:
            raise ProbeError(
                f"A document cannot hold {tau} of {self.topics} topics: give τ between 1 and {self.topics}."
            )
        if not 0 < self.alpha < float("inf"):
            raise ProbeError(f"Dirichlet concentration {self.alpha} is not positive: give α above 0.")
        shortest, longest = self.lengths
        if not 1 <= shortest <= longest:
            raise ProbeError(f"Lengths {shortest} to {longest} are no range: give 1 or more, the shorter first.")

    @property
    def vocabulary(self) -> int:
        """T·v + 1: every word and [MASK]."""
        return self.topics * self.words_per_topic + 1

    @property
    def topic_of_token(self) -> NDArray[np.int64]:
        """Topic of each token, [T·v + 1], counted from 0; -1 for [MASK] (Definition 1)."""
        words = np.arange(self.vocabulary - 1)
        return np.concatenate([[-1], words // self.words_per_topic])

    def sample(self, documents: int, random_state: int) -> "Documents":
        """Draw documents.

        Args:
            documents: How many.
            random_state: Seed of lengths, topics and words.

        Raises:
            ProbeError: Fewer than one document.
        """
        if documents < 1:
            raise ProbeError(f"{documents} documents cannot be drawn: give 1 or more.")
        random = np.random.default_rng(random_state)
        lengths = random.integers(self.lengths[0], self.lengths[1] + 1, size=documents)
        document = np.repeat(np.arange(documents), lengths)
        if self.topics_per_document is None:
            shares = random.dirichlet(np.full(self.topics, self.alpha), size=documents)
            # One sorted array for all documents: entry d·T + t is d plus the cumulative share of topic t.
            edges = np.cumsum(shares, axis=1)
            edges[:, -1] = 1.0
            edges += np.arange(documents)[:, None]
            drawn = np.searchsorted(edges.ravel(), document + random.random(len(document)), side="right")
            topic = np.minimum(drawn - document * self.topics, self.topics - 1)
        else:
            chosen = np.argsort(random.random((documents, self.topics)), axis=1)
            slot = random.integers(0, self.topics_per_document, size=len(document))
            topic = chosen[document, slot]
        word = random.integers(0, self.words_per_topic, size=len(document))
        return Documents(1 + topic * self.words_per_topic + word, lengths, self.vocabulary)


@dataclass(frozen=True)
class Masking:
    """The masking scheme of section 3.2.

    Attributes:
        p_mask: p_m, the probability that a position is predicted.
        p_correct: p_c, the probability that such a position keeps its word.
        p_random: p_r, the probability that it holds a random word; [MASK] has the rest.

    Raises:
        ProbeError: Probabilities outside their range, or that leave nothing for [MASK].
    """

    p_mask: float = 0.15
    p_correct: float = 0.1
    p_random: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.p_mask < 1:
            raise ProbeError(f"p_mask {self.p_mask} is no share of positions: give it between 0 and 1.")
        for name, value in (("p_correct", self.p_correct), ("p_random", self.p_random)):
            if not 0 <= value < 1:
                raise ProbeError(f"{name} {value} is no probability: give it at least 0 and below 1.")
        if self.p_correct + self.p_random >= 1:
            raise ProbeError(
                f"p_correct {self.p_correct} and p_random {self.p_random} leave nothing for [MASK]: "
                "give two that add up to less than 1."
            )

    @property
    def p_token(self) -> float:
        """1 - p_c - p_r, the probability that a predicted position shows [MASK]."""
        return 1 - self.p_correct - self.p_random


@dataclass(frozen=True)
class Documents:
    """Documents laid end to end.

    Attributes:
        tokens: Words 1 .. T·v of all documents, [positions].
        lengths: Positions of each document, [documents].
        vocabulary: T·v + 1.
    """

    tokens: NDArray[np.int64]
    lengths: NDArray[np.int64]
    vocabulary: int

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> NDArray[np.int64]:
        """The words of one document, [N]."""
        start = int(self.lengths[:index].sum())
        return self.tokens[start : start + int(self.lengths[index])]

    def take(self, chosen: NDArray[np.int64]) -> "Documents":
        """The chosen documents, in that order."""
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(self.lengths)])[chosen]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Documents(self.tokens[np.repeat(starts, lengths) + within], lengths, self.vocabulary)

    def write(self, path: Path) -> None:
        """Write one document a line: word numbers from 0, then END (the format of the paper's data)."""
        with whole_file(path) as temporary, temporary.open("w", encoding="ascii") as file:
            for tokens in np.split(self.tokens - 1, np.cumsum(self.lengths)[:-1]):
                file.write(" ".join(map(str, tokens.tolist())) + " END\n")

    @classmethod
    def read(cls, path: Path, vocabulary: int) -> "Documents":
        """Read what `write` wrote.

        Args:
            path: The file.
            vocabulary: T·v + 1 of the topic model it was drawn from.

        Raises:
            ProbeError: No such file, a line without END, a document without words, or a word that is none.
        """
        if not path.is_file():
            raise ProbeError(f"There is no file {path}: write one with `probe synthetic train --save-data`.")
        tokens: list[int] = []
        lengths: list[int] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            fields = line.split()
            if len(fields) < 2 or fields[-1] != "END":
                raise ProbeError(f"Line {number} of {path} is no document: end each line's word numbers with END.")
            try:
                words = [int(field) for field in fields[:-1]]
            except ValueError:
                raise ProbeError(
                    f"Line {number} of {path} holds something other than word numbers and END: remove it."
                ) from None
            if min(words) < 0 or max(words) >= vocabulary - 1:
                raise ProbeError(
                    f"Line {number} of {path} holds a word outside 0 to {vocabulary - 2}: "
                    "give the T and v that it was drawn with."
                )
            tokens.extend(words)
            lengths.append(len(words))
        if not lengths:
            raise ProbeError(f"{path} holds no document: give a file with one document a line.")
        return cls(np.array(tokens) + 1, np.array(lengths), vocabulary)


@dataclass(frozen=True)
class MaskedDocuments:
    """Documents after masking.

    Attributes:
        original: The documents, w.
        tokens: What the model reads, w̃, [positions]; 0 is [MASK].
        predicted: The positions of M(w), [positions].
    """

    original: Documents
    tokens: NDArray[np.int64]
    predicted: NDArray[np.bool_]

    @property
    def document(self) -> NDArray[np.int64]:
        """The document of each position, [positions]."""
        return np.repeat(np.arange(len(self.original)), self.original.lengths)

    def counts(self, visible_only: bool = False) -> NDArray[np.int64]:
        """How often each document shows each token, [documents, T·v + 1].

        Args:
            visible_only: Leave out the predicted positions (what a model sees that does not attend to them).
        """
        size = self.original.vocabulary
        cells = self.document * size + self.tokens
        if visible_only:
            cells = cells[~self.predicted]
        return np.bincount(cells, minlength=len(self.original) * size).reshape(-1, size)


def mask_documents(documents: Documents, masking: Masking, random_state: int | np.random.Generator) -> MaskedDocuments:
    """Mask documents as in section 3.2.

    A document without a predicted position has no loss (equation 1 divides by |M|), so its M is drawn again.

    Args:
        documents: The documents.
        masking: p_m, p_c, p_r.
        random_state: Seed or generator.
    """
    random = np.random.default_rng(random_state)
    draw = random.random(len(documents.tokens))
    predicted = draw < masking.p_mask
    ends = np.cumsum(documents.lengths)
    found = np.add.reduceat(predicted, ends - documents.lengths)
    for index in np.flatnonzero(found == 0):
        # The first predicted position, given that there is one, is truncated geometric; those after it are free.
        length, start = int(documents.lengths[index]), int(ends[index] - documents.lengths[index])
        log_kept = np.log1p(-masking.p_mask)
        first = np.log1p(random.random() * np.expm1(length * log_kept)) / log_kept
        first = start + min(int(first), length - 1)
        draw[first] = random.random() * masking.p_mask
        draw[first + 1 : ends[index]] = random.random(ends[index] - first - 1)
        predicted[start : ends[index]] = draw[start : ends[index]] < masking.p_mask
    # Given that a position is predicted, draw / p_m is uniform again and says what it shows.
    where = np.flatnonzero(predicted)
    kind = draw[where] / masking.p_mask
    shown = documents.tokens[where].copy()
    replaced = (kind >= masking.p_correct) & (kind < masking.p_correct + masking.p_random)
    shown[replaced] = random.integers(1, documents.vocabulary, size=int(replaced.sum()))
    shown[kind >= masking.p_correct + masking.p_random] = MASK
    tokens = documents.tokens.copy()
    tokens[where] = shown
    return MaskedDocuments(documents, tokens, predicted)
