"""Hugging Face datasets, streamed."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport
from corpora.source import Options, row_document
from corpora.wikitext import from_rows


@dataclass(frozen=True)
class HubSource:
    """A dataset of the Hugging Face hub, read row by row without being downloaded as a whole.

    Attributes:
        dataset: Its id, ``owner/name``.
        config: Its configuration, where it has several.
        split: Its split.
        revision: Branch, tag or commit; the newest where None.
        options: The fields to read.
    """

    dataset: str
    config: str | None
    split: str
    revision: str | None
    options: Options

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """The rows, in the order of the dataset."""
        from datasets import load_dataset
        from huggingface_hub import HfApi

        try:
            # load_dataset tries an unreachable hub again and again; this says so at once
            commit = HfApi().dataset_info(self.dataset, revision=self.revision, timeout=30).sha
            rows = load_dataset(self.dataset, self.config, split=self.split, revision=commit, streaming=True)
            report.notes.append(f"{self.dataset} was read at revision {commit}.")
            columns = rows.column_names or []
            if self.options.text_field in columns:  # the others need not even be fetched
                fields = (self.options.text_field, self.options.title_field)
                rows = rows.select_columns([field for field in fields if field in columns])
            yield from from_rows(
                row_document(row, f"{self.dataset}: row {number}", str(number), self.options)
                for number, row in enumerate(rows, start=1)
            )
        except CorpusError:
            raise
        except Exception as error:
            raise self._refusal(error) from None

    def fingerprint(self) -> str:
        """Hash of what names the rows."""
        return hashlib.blake2b(repr(self).encode(), digest_size=16).hexdigest()

    def _refusal(self, error: Exception) -> CorpusError:
        reason = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        return CorpusError(
            f"The dataset {self.dataset} cannot be read from the Hugging Face hub ({reason}); where the hub "
            "is out of reach, give a local file (--corpus FILE) or --corpus wikipedia-sample."
        )
