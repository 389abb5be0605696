"""Text into sentences, with no model to download."""

import re
from collections.abc import Iterable

from corpora.languages import NLTK_NAMES, base_language

TRAINING_CHARACTERS = 2_000_000
"""Of the corpus, read to learn its abbreviations; more takes longer and finds little more."""

# Ends of sentences after which no space need follow, so Punkt does not see them.
_SENTENCE = re.compile(r"[^。！？｡।॥።။؟۔]*+(?:[。！？｡।॥።။؟۔]+[”’」』）)\"']*|\Z)")


class SentenceSplitter:
    """Splits text into sentences by NLTK's Punkt (Kiss and Strunk, 2006).

    Its model of the language is used where it is installed (``punkt_tab``); else one is learned from the
    corpus itself, without supervision. A line end always ends a sentence, and so do the full stops of scripts
    that put no space after them.

    Args:
        language: ISO 639.
        texts: The corpus to learn from where no model is installed, `TRAINING_CHARACTERS` of it.

    Attributes:
        source: Which model it is, for the record.
    """

    def __init__(self, language: str, texts: Iterable[str]) -> None:
        from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTokenizer, PunktTrainer

        name = NLTK_NAMES.get(base_language(language), "none")
        try:
            self._punkt = PunktTokenizer(name)
            self.source = f"NLTK punkt_tab, {name}"
        except (LookupError, ValueError, OSError):
            trainer = PunktTrainer()
            read = 0
            for text in texts:
                trainer.train(text[: TRAINING_CHARACTERS - read], finalize=False)
                read += len(text)
                if read >= TRAINING_CHARACTERS:
                    break
            trainer.finalize_training()
            self._punkt = PunktSentenceTokenizer(trainer.get_params())
            self.source = "Punkt, trained on the corpus"

    def __call__(self, text: str) -> list[str]:
        """The sentences, in order, none of them blank."""
        return [
            stripped
            for line in text.split("\n")
            for piece in _SENTENCE.findall(line)
            for sentence in self._punkt.tokenize(piece)
            if (stripped := sentence.strip())
        ]
