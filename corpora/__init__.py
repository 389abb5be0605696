"""Text in, documents out: named corpora, files, MediaWiki dumps, Hugging Face datasets.

from corpora import open_corpus

for document in open_corpus("wikipedia-sample"):
    print(document.title, len(document.text))
"""

from corpora.corpus import Corpus
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.named import catalog
from corpora.opening import open_corpus
from corpora.report import ReadingReport

__all__ = ["Corpus", "CorpusError", "Document", "ReadingReport", "catalog", "open_corpus"]
