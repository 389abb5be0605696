"""The models whose attention is compared with their own eager maps: how each is read, fast and literally."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import torch
import transformers

from probe.measures.attention import Attention, attention_sums_literal
from probe.measures.batches import BatchMaker
from probe.measures.cooccurring import TopPairs
from probe.measures.embeddings import Embeddings
from probe.measures.pairs import DIFFERENT, SAME, pair_states
from probe.measures.pooling import pool_attention_literal
from probe.measures.protocol import Probed
from probe.measures.reading import read_passages
from probe.text.passages import Passages
from probe.text.tokens import Tokens
from probe.text.vocabulary import CONTINUES

MAX_LENGTH = 48
NONE = np.zeros(0, dtype=np.int64)


class Found(SimpleNamespace):
    """The sums of a pass, of both measures together."""

    def __init__(self, sums):
        super().__init__(occurrences=sums.occurrences, whole=sums, **sums.of["attention"], **sums.of["embeddings"])

    def items(self):
        return {name: array for name, array in vars(self).items() if name != "whole"}.items()


def read(model, maker, batches, pairs, spelled=None, **options):
    probed = Probed(pairs, TopPairs(NONE, NONE, NONE), len(maker.probed_documents), spelled)
    return Found(read_passages(model, maker, batches, [Embeddings(), Attention()], probed, **options))


@dataclasses.dataclass
class Case:
    model: object
    tokens: Tokens
    passages: Passages
    specials: object
    words: object
    pairs: object
    labelled: list

    def maker(self, passages=None):
        chosen = self.passages if passages is None else passages
        return BatchMaker(self.tokens, chosen, self.specials, self.pairs.words, len(self.words))

    def sums(self, batches, **options):
        return read(self.model, self.maker(), batches, self.pairs, self.words.spelled(self.pairs.words), **options)

    def classes(self, sums):
        """Same-topic and different-topic sums of every assignment, one after the other."""
        return np.concatenate([self.pairs.classes(sums, one.assignment) for one in self.labelled], axis=-1)


THETAS = (0.15, 0.3)


def random_topics(n: int, topics: int = 4) -> list[np.ndarray]:
    """Two topic models whose topics share words."""
    return list(np.random.default_rng(3).dirichlet(np.full(n, 0.3), size=(2, topics)))


def _own_outputs(folder: str, attention: str):
    """What transformers' eager implementation gives for one passage: maps, first hidden states, and how far they
    stand after a token's place in the passage (queries, keys)."""
    eager = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    options = {"output_attentions": True, "output_hidden_states": True}

    def run(ids: list[int]):
        ids = torch.tensor([ids])
        more = {"attention_mask": torch.ones_like(ids)}
        with torch.inference_mode():
            if not eager.config.is_encoder_decoder:
                output = eager(ids, **more, **options)
            elif attention == "encoder":
                output = eager.get_encoder()(ids, **more, **options)
            else:
                if hasattr(eager, "_shift_right"):  # BART shifts its input itself
                    more["decoder_input_ids"] = eager._shift_right(ids)
                output = eager(ids, **more, **options)
                maps = output.cross_attentions if attention == "cross" else output.decoder_attentions
                return np.concatenate(maps), output.decoder_hidden_states[0][0].numpy()
        return np.concatenate(output.attentions), output.hidden_states[0][0].numpy()

    shifts = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}[attention]
    return run, shifts


def literal(case: Case, folder: str, attention: str, causal: bool):
    """Sums from eager maps of one passage at a time, pair by pair."""
    run, shifts = _own_outputs(folder, attention)
    place = {word: index for index, word in enumerate(case.pairs.words)}
    size = len(case.pairs)
    layers, documents, counts, per_passage = 0.0, {}, {}, []
    vectors, occurrences = 0.0, np.zeros(size, dtype=int)
    full = []
    for one in case.labelled:
        states = np.zeros((size, size), dtype=np.uint8)
        states[np.ix_(one.position, one.position)] = pair_states(one.assignment, case.pairs.surface[one.position])
        full.append(states)
    for start, stop, document in zip(case.passages.start, case.passages.stop, case.passages.document, strict=True):
        text = case.tokens.ids[start:stop]
        ids = [*case.specials.before, *text, *case.specials.after]
        maps, hidden = run(ids)
        per_passage.append(maps)
        words = [place.get(t, -1) if w else -1 for t, w in zip(text, case.tokens.is_word[start:stop], strict=True)]
        words = [-1] * len(case.specials.before) + words + [-1] * len(case.specials.after)
        queries, keys = ([-1] * shift + words[: len(words) - shift] for shift in shifts)
        found = [attention_sums_literal(maps, queries, keys, states, causal) for states in full]
        sums = np.concatenate([one for one, _ in found], axis=2)
        layers = layers + sums
        documents[document] = documents.get(document, 0) + sums.mean(axis=(0, 1))
        counts[document] = counts.get(document, 0) + np.concatenate([count for _, count in found])
        here = np.zeros((size, hidden.shape[1]))
        for vector, word in zip(hidden, queries, strict=True):
            if word >= 0:
                here[word] += vector
                occurrences[word] += 1
        vectors = vectors + here
    order = sorted(documents)
    return (
        layers,
        np.array([documents[d] for d in order]),
        np.array([counts[d] for d in order]),
        vectors,
        occurrences,
        per_passage,
    )


def literal_whole_words(case: Case, folder: str, attention: str, causal: bool):
    """Sums of words of several tokens, from eager maps pooled by hand, pair by pair."""
    run, (query_shift, key_shift) = _own_outputs(folder, attention)
    place = {word: index for index, word in enumerate(case.pairs.words)}
    sums, counts = 0.0, np.zeros(2 * len(case.labelled), dtype=int)
    vectors, occurrences, most = 0.0, np.zeros(len(case.pairs), dtype=int), 0
    for start, stop in zip(case.passages.start, case.passages.stop, strict=True):
        ids = [*case.specials.before, *case.tokens.ids[start:stop], *case.specials.after]
        maps, hidden = run(ids)
        spread = np.arange(1, len(ids) + 1)[:, None] if causal else len(ids)
        words = _words_in(case, start, stop, place)
        words = [(word, at) for word, at in words if at[-1] + query_shift < len(ids)]
        queries, keys = ([[one + shift for one in at] for _, at in words] for shift in (query_shift, key_shift))
        pooled = np.array([pool_attention_literal(layer * spread / 100, queries, keys) for layer in maps])
        most = max(most, *map(len, queries), 0)
        here = np.zeros((len(case.pairs), hidden.shape[1]))
        for (word, _), its_queries in zip(words, queries, strict=True):
            here[word] += hidden[its_queries].mean(axis=0)
            occurrences[word] += 1
        vectors = vectors + here
        columns = []
        for number, one in enumerate(case.labelled):
            states = np.zeros((len(case.pairs), len(case.pairs)), dtype=np.uint8)
            states[np.ix_(one.position, one.position)] = pair_states(one.assignment, case.pairs.surface[one.position])
            for state in (SAME, DIFFERENT):
                total = np.zeros(maps.shape[:2])
                for i, (first, _) in enumerate(words):
                    for j, (second, _) in enumerate(words[:i] if causal else words):
                        if states[first, second] == state:
                            total += pooled[:, :, i, j]
                            counts[2 * number + (state == DIFFERENT)] += 1
                columns.append(total)
        sums = sums + np.stack(columns, axis=-1)
    assert most > 1  # else nothing is pooled
    return sums, counts, vectors, occurrences


def _words_in(case: Case, start: int, stop: int, place: dict[int, int]) -> list[tuple[int, list[int]]]:
    """The tracked words that lie in a passage as a whole: which, and the positions of their tokens."""
    numbers, before, found = case.tokens.numbers, len(case.specials.before), []
    for at in range(start, stop):
        last = at + 1
        while last < len(numbers) and numbers[last] == CONTINUES:
            last += 1
        if numbers[at] in place and last <= stop:
            found.append((place[numbers[at]], [position - start + before for position in range(at, last)]))
    return found


def own_maps_of_words(case: Case, folder: str, chosen: np.ndarray):
    """Of some passages, the eager maps, and the tracked words (which, and the positions of their tokens)."""
    run, _ = _own_outputs(folder, "encoder")
    place = {word: index for index, word in enumerate(case.pairs.words)}
    for start, stop in zip(case.passages.start[chosen], case.passages.stop[chosen], strict=True):
        maps, _ = run([*case.specials.before, *case.tokens.ids[start:stop], *case.specials.after])
        yield maps, _words_in(case, start, stop, place)
