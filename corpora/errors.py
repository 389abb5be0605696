"""What this package says when a corpus cannot be read."""


class CorpusError(ValueError):
    """A source that cannot be read: one sentence that names it and the way out."""


class BrokenInputError(CorpusError):
    """Input that breaks off or turns to garbage part of the way: what came before it was whole."""
