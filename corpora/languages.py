"""Language codes, and what NLTK calls the languages."""

NLTK_NAMES = {
    "ar": "arabic",
    "az": "azerbaijani",
    "be": "belarusian",
    "bn": "bengali",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "he": "hebrew",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "kk": "kazakh",
    "ml": "malayalam",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sl": "slovene",
    "sq": "albanian",
    "sv": "swedish",
    "ta": "tamil",
    "tg": "tajik",
    "tr": "turkish",
    "uz": "uzbek",
    "zh": "chinese",
}
"""Names of NLTK's stop word lists and sentence models, by ISO 639-1 code."""

_SAME = {"nb": "no", "nn": "no", "iw": "he", "simple": "en"}


def base_language(language: str) -> str:
    """The ISO 639-1 code without region or script: ``de`` for ``de-AT``, ``zh`` for ``zh_Hant``."""
    base = language.lower().replace("_", "-").partition("-")[0]
    return _SAME.get(base, base)
