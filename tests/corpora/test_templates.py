"""Templates that carry the words of a sentence show them; all others show nothing."""

import pytest

from corpora.markup import plain_text
from corpora.templates import _TEMPLATES, shown


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("is a {{abbr|metal}} with {{val|80}} atoms and {{convert|5|kg|lb}} of mass",
         "is a metal with 80 atoms and 5 kilograms of mass"),
        ("{{lang|fr|déjà vu}}, {{langx|de|Wald|label=none}}", "déjà vu, Wald"),
        ("{{lang|fr|text=déjà [[vu]]}}, {{Lang-ru|Москва}}", "déjà vu, Москва"),
        ("{{rtl-lang|ar|الكيمياء}} {{script/Hebrew|שלום}} {{Script|Copt|Ⲁ}}", "الكيمياء שלום Ⲁ"),
        ("{{transl|ar|al-Jazā'ir}}, {{transliteration|ar|ALA|Miṣr}}", "al-Jazā'ir, Miṣr"),
        ("{{Nihongo|'''Aikido'''|合気道|Aikidō|lead=yes}}", "Aikido (合気道, Aikidō)"),
        ("{{nihongo||合気道}}", "合気道"),
        ("{{zh|c=中文|p=Zhōngwén}}, {{zh|s=学|t=學}}", "中文; Zhōngwén, 學; 学"),
        ("{{ruby|漢字|かんじ}} {{仮リンク|水星|en|Mercury}}", "漢字 水星"),
        ("{{nobr|a b}} {{no_wrap|c}} {{Nowrap | d }}", "a b c d"),
        ("{{small|a}} {{font color|red|b}} {{resize|80%|c}}", "a b c"),
        ("{{smallcaps|Smith}}, 40 {{sc|bc}}", "Smith, 40 bc"),
        ("{{abbr|UN|United Nations}} {{tooltip|a|b}} {{em|c}}", "UN a c"),
        ("{{ill|Ada|de}} {{visible anchor|name}} {{angbr|a}}", "Ada name a"),
        ("{{formatnum:12345}} {{formatnum:{{formatnum:7}}}} {{lc:ABC}}", "12345 7 ABC"),
        ("{{convert|1300|mi|km}}, {{convert|1|km}}", "1300 miles, 1 kilometre"),
        ("{{convert|5|to|10|km|mi|abbr=on}}; {{cvt|5|-|6|m}}", "5 to 10 km; 5–6 m"),
        ("{{convert|6|ft|2|in|m}}, a {{convert|3|ft|m|0|adj=on}} wall", "6 feet 2 inches, a 3-foot wall"),
        ("{{convert|7|furlong}}", "7 furlong"),
        ("{{unité|5|km}} {{val|6.241|e=18|u=m}} 2{{e|5}}", "5 km 6.241×10^18 m 2×10^5"),
        ("{{frac|1|2}} {{frac|3}} {{sfrac|1|1|4}} {{chem|H|2|O}}", "1/2 1/3 1 1/4 H2O"),
        ("born {{circa|1500}}, {{c.|1500|1510}}, {{circa}}", "born c. 1500, c. 1500 – c. 1510, c."),
        ("{{fl.|1300}} {{reign|1900|1910}} {{born|1}} {{died|2}}", "fl. 1300 r. 1900–1910 b. 1 d. 2"),
        ("{{as of|2014|lc=y}}; {{As of|2014|6}}; {{as of|2014|alt=in 2014}}", "as of 2014; As of June 2014; in 2014"),
        ("{{birth date|1990|5|3|df=yes}}, {{start date|1990|5}}", "3 May 1990, May 1990"),
        ("{{death date and age|1990|5|3|1950|1|1}}, {{date|1|mai|2000}}", "May 3, 1990, 1 mai 2000"),
        ("a\n{{quote|To [[be|b]].|Hamlet|Act 3}}\nb", "a\n\nTo b.\nHamlet, Act 3\n\nb"),
        ("a {{quote|text=x = y|author=A}} b", "a\nx = y\nA\nb"),
        ("{{HMS|Ajax|22|6}} {{ship|USS|Enterprise|CV-6}}", "HMS Ajax USS Enterprise"),
        ("{{hlist|a|b}}, {{ubl|c|d}}", "a, b, c\nd"),
        ("A{{'s}} x{{snd}}y{{ndash}}z {{' \"}} a{{nbsp}}b {{·}}", "A's x – y–z '\" a b ·"),
        ("{{lang|fr|{{nowrap|{{smallcaps|x}} y}}}}", "x y"),
    ],
)  # fmt: skip
def test_words_of_templates_stay(markup: str, text: str) -> None:
    assert plain_text(markup) == text


@pytest.mark.parametrize(
    "markup",
    [
        "{{citation needed|date=May 2015}}", "{{cite book|title=A}}", "{{sfn|Barnes|1995}}",
        "{{Infobox|a={{lang|fr|x}}}}", "{{IPA|/a/}}", "{{main|Other}}", "<ref>{{lang|fr|x}}</ref>",
        "{|\n| {{lang|fr|x}}\n|}", "{{#if:a|b|c}}",
        "{{lang|fr}}", "{{lang}}", "{{convert}}", "{{birth date}}", "{{nihongo}}", "{{zh}}", "{{quote}}",
    ],
)  # fmt: skip
def test_other_templates_and_those_without_words_leave_a_gap(markup: str) -> None:
    assert plain_text(f"one{markup}two").split() == ["one", "two"]


@pytest.mark.parametrize("name", sorted(_TEMPLATES))
def test_every_template_of_the_table_shows_its_words_or_its_mark(name: str) -> None:
    text = plain_text(f"one {{{{{name}|alpha|beta}}}} two")
    assert text.startswith("one") and text.endswith("two")
    words = text.removeprefix("one").removesuffix("two")
    mark = not any(map(str.isalnum, words)) and (words.strip() or "sp" in name)
    assert mark or "alpha" in words or "beta" in words or text == "one s two" or words.strip() in ("'s", "ʻ")


@pytest.mark.parametrize("name", sorted(_TEMPLATES))
def test_no_template_of_the_table_fails_whatever_it_is_given(name: str) -> None:
    for values in ("", "|", "|a", "|1|2|3|4|5", "|a=b", "|1=x|2=y|3=z", "|text=t", "|²|²", "|1|0|99", "|=|=|"):
        words = shown(name + values)
        assert words is None or ("|" not in words and "{" not in words and words)
