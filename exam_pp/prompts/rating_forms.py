"""Forms of ratings in replies: numbers, number words, fractions, names such as "rating", and keys of JSON.

A reply may state several numbers. The one that counts is the last that is called final or overall; else the
last that is called a rating, score or grade; else the only one with another name, such as "relevance".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from exam_pp.prompts.base import Unparsed

_WRAP = r"[\s\"'`“”‘’«»*_#~|()\[\]{}<>•.,:;!?=…。！：–—-]*"
# These may follow a number; anything else makes it a quantity, a fraction or a range.
_CLOSE = r"[\"'`”’*_)\]}]*"
_END = (
    rf"(?={_CLOSE}(?:\s*$|[.,;:!?：]{_CLOSE}(?:\s(?!\s*\d)|$)|[。，；、！](?!\s*\d)|です|\s*（|\s+(?:[–—-](?!\s*\d)|\()|\s*\n"
    r"|\s+(?:because|since|as|on\sa)\b))"
)
_UNIT = r"(?:\s*[分点점])?"  # points in Chinese, Japanese and Korean
# A minus right before the digits makes a negative number; a minus and a space begin a list item.
_SIGN = r"(?<![-–—−.,])"
_WHOLE_DECIMAL = re.compile(r"(?<![\d.,])(\d{1,2})\.0(?![\d.,]*\d|%)(?=(\s*/|\s+out\s+of)?)")
_NEXT_VALUE = re.compile(r"\}[\s`]*[^\W\d_]")
_SECOND_ITEM = re.compile(r"^[ \t*_#(]*\d{1,2}[.)]\s", re.MULTILINE)

# Words with another meaning elsewhere, such as German "null" and Italian "due", are missing.
_WORDS = {
    word: number
    for number, words in enumerate(
        (
            "zero zéro cero ноль нуль صفر शून्य ゼロ 零 〇 영",
            "one eins un uno um один واحد एक 一 일",
            "two zwei deux dos dois два اثنان اثنين दो 二 两 이",
            "three drei trois tres três tre три ثلاثة तीन 三 삼",
            "four vier quatre cuatro quatro quattro четыре أربعة चार 四 사",
            "five fünf cinq cinco cinque пять خمسة पाँच पांच 五 오",
            "six sechs seis шесть ستة छह 六 육",
            "seven sieben sept siete sete sette семь سبعة सात 七 칠",
            "eight acht huit ocho oito otto восемь ثمانية आठ 八 팔",
            "nine neun neuf nueve nove девять تسعة नौ 九 구",
            "ten zehn dix diez dez dieci десять عشرة दस 十 십",
        )
    )
    for word in words.split()
}
_DIGITS = r"\d{1,3}"
_DIGITS_OR_WORDS = rf"{_DIGITS}|(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?=[分点점で]|[\W_]|$)"

_NAMES = (
    r"rating|score|grade"
    r"|(?:gesamt|end)?(?:bewertung|note|punktzahl|wertung)|punkte|einstufung|beoordeling"
    r"|évaluation|notation|calificación|puntuación|puntaje|valoración|nota|pontuação|avaliação|classificação"
    r"|valutazione|punteggio|voto|оценка|рейтинг|балл|(?:ال)?(?:تقييم|تصنيف|درجة)|skor|nilai|puan|रेटिंग|अंक|मूल्यांकन|स्कोर"
)
# Names in languages that put no blank before them.
_DENSE_NAMES = (
    r"(?<!最高)(?<!最大)(?<!最低)(?P<last>最终|最終|总体|總體|総合|综合)?"
    r"(?:评分|評分|评级|評級|得分|分数|分數|打分|等级|等級|評価|評点|点数|スコア|答案|答え|평점|점수|등급)"
)
_OTHER_NAMES = (
    r"answer|choice|option|level|relevance|coverage|antwort|réponse|respuesta|resposta|risposta|ответ|الإجابة"
)
_FINAL_NAMES = r"overall|final|gesamt|(?:overall|final)\s+(?:verdict|judge?ment|assessment|evaluation)"
# A name may be followed by its object, as in "the coverage of the key fact is 5".
_OBJECT = r"(?:[*_]*\s+(?:of|for|to|between|about)\s+[^.,:;!?=\d\n]{1,120}?)?"
_FINAL_SCORE = r"final[\s_]+score(?:\s*\(O\))?"
_CHOSEN = r"I(?:\s+would|\s+will|['’](?:d|ll))?\s+(?:choose|select|pick|rate|give|assign)\b[^.\d]{0,60}?[\s:]"

_BEFORE = re.compile(r"(?:[^\W\d_]+[ \t_*-]+){0,2}\Z")
_WORD = re.compile(r"[^\W\d_](?:(?![A-Z])[^\W\d_])*")
# Up to two words before the name: of a final rating, of a number about something else, and of any rating.
_FINAL, _OF_OTHERS, _OF_THE_REPLY = (
    frozenset(words.split())
    for words in (
        "final overall total revised updated corrected concluding endgültige abschließende finale globale "
        "global definitiva definitivo итоговая окончательная النهائي النهائية अंतिम",
        "max maximum maximal highest min minimum minimal lowest possible perfect passing threshold first "
        "initial previous preliminary original average mean expected target confidence certainty not höchste "
        "maximale minimale anfängliche initiale máxima mínima inicial максимальная",
        "i a an the my your our its this self numeric integer so thus therefore hence and new best die der "
        "meine eine la le ma mi una minha o моя",
    )
)


@lru_cache(maxsize=32)
def _patterns(max_rating: int, in_sentences: bool, names: tuple[str, ...]) -> Mapping[str, re.Pattern[str]]:
    """The forms of a rating, whose group ``n`` is the number; after a group ``open``, another one may count.

    In sentences, numbers may be words, and names may have an object.
    """
    number = f"(?P<n>{_DIGITS_OR_WORDS if in_sentences else _DIGITS})"
    highest = "|".join([str(max_rating), *(word for word, value in _WORDS.items() if value == max_rating)])
    out_of = rf"\s*(?:/|\b(?:out\s+of|von|sur|de|su|из)\b)\s*(?:{highest})(?![\d/]|[.,]\d)"
    span = r"\d\s*(?:[-–]|to)\s*\d"
    scale = (
        rf"(?:\s*[(（]\s*(?:{span}|out\s+of\s+{max_rating})\s*[)）]"
        rf"|\s+(?:on|from)\s+(?:a\s+)?(?:scale\s+)?(?:of\s+|from\s+)?{span})?"
    )
    links = (
        r"\s*[:=：][*_\"']*\s*|[ \t]*+\n\s*+|\s+[–—-]\s++|\s*[是为為は]\s*"
        r"|\s+(?:is|(?P<of>of)|would\s+be|will\s+be|ist|lautet|est(?:\s+de)?|es|é|è)(?:\s*:)?\s++"
    )
    other_scale = rf"(?!\s+on\s+a\s+scale\s+(?:of|from)\s+\d+\s*(?:[-–]|to)\s*(?!{max_rating}\b)\d)"
    verbs = r"rate|rated|give|gives|given|scored|graded|assign|assigned|(?P<name>rating|score|grade)"
    own = "|".join(map(re.escape, names)) or "(?!)"
    rest = rf"(?:[-•*]\s+)?[\"'`“*_(\[]*{_SIGN}{number}(?!\d)(?:{out_of})?{_UNIT}{other_scale}{_END}"

    def named(pattern: str, chosen: str = "(?!)") -> re.Pattern[str]:
        link = rf"[*_\"']*+{scale}[*_\"']*+(?:{links}|(?(own)\s*))"
        return re.compile(rf"(?P<open>(?:{pattern}){link}|{chosen}){rest}", re.IGNORECASE)

    other = rf"{_OTHER_NAMES}|key\s+fact" if in_sentences else _OTHER_NAMES
    after = r"finale?|globale?|definitiv[ao]|définitive"
    name = (
        rf"(?<![^\W_])(?:(?P<own>{own})|(?P<name>{_NAMES})(?:\s+(?P<after>{after}))?|(?P<other>{other})"
        rf"|(?P<final>{_FINAL_NAMES})){_OBJECT if in_sentences else ''}|(?P<dense>{_DENSE_NAMES})"
    )
    key = (
        rf"(?P<own>{own})|(?P<name>{_NAMES}|{_DENSE_NAMES})|(?P<final>{_FINAL_NAMES}|o)"
        rf"|(?P<other>{_OTHER_NAMES}|label|value|result|points)"
    )
    return {
        "whole": re.compile(rf"^{_WRAP}{_SIGN}{number}{_UNIT}{_WRAP}$", re.IGNORECASE),
        "leading": re.compile(
            rf"^[\s\"'`“*_#(\[•-]*{_SIGN}{number}[\"'`”*_\]]*"
            r"(?:(?P<open>[.)])[*_]*+(?!\d)|[:：][*_]*+(?!\d)|\s+[-–—=]\s++(?!\d)|[^\S\n]*\n|,?\s+because\b"
            r"|\s+(?=\([^()\d]*\)[.:]?\s*$))"
            r"\s*+(?=.*[^\W\d_])",
            re.DOTALL | re.IGNORECASE,
        ),
        "fraction": re.compile(
            rf"(?:^{_WRAP}|(?P<open>\b(?:{verbs})\b[^.\d]{{0,40}}))(?<![\d.,/]){_SIGN}{number}{out_of}"
            r"[*_\"'”)\]]*(?=\s*$|[.,;:!?]|\s+[-–—(])",
            re.IGNORECASE,
        ),
        "named": named(name, rf"\b{_CHOSEN}"),
        "final_score": named(rf"\b(?:(?P<own>{own})|{_FINAL_SCORE})"),
        "key": re.compile(
            r"[{,]\s*[\"']?(?P<before>[^\"'{}:,\n]{0,30}?)(?:(?<![^\W_])|(?-i:(?<=[a-z])(?=[A-Z])))"
            rf"(?P<open>{key})(?:[ _(]*\d[ _-]*(?:to)?[ _-]*\d\)?)?[\"']?\s*:\s*"
            rf"(?:(?P<quote>[\"'])?\s*[\[*_]*{number}(?:\.0+)?(?:{out_of})?{_UNIT}"
            r"(?=\.?[*_\s]*(?:[\"'\n}\]]|,(?!\d)|$)|\.\s+[^\d\s]|\s*[:(–-]\s*[^\d\s])(?(quote)[^\"]*+\"?))?"
            r"|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)",
            re.IGNORECASE | re.DOTALL,
        ),
    }


def locate_rating(
    reply: str, max_rating: int, unparsed: Unparsed, names: tuple[str, ...] = ()
) -> re.Match[str] | None:
    """The match of a rating, as group ``n``, in a reply without markup; None if it has none.

    ``names``: Further names of the rating, such as "Urteil". Only with ``chat``, words may be numbers, and a
    name may have an object. In JSON, different ratings are no rating.
    """
    forms = _patterns(max_rating, unparsed == "chat", names)
    keys = _keys(reply, forms)
    if any(key["n"] or _rank(key) < _OTHER for key in keys):
        return _counting(keys, max_rating, in_json=True)
    if unparsed == "chat":
        # Blanks or asterisks, which the patterns ignore, replace ".0", so that all positions stay the same.
        reply = _WHOLE_DECIMAL.sub(lambda match: f"{match[1]}{'  ' if match[2] else '**'}", reply)
    if match := forms["whole"].search(reply):
        return _in_scale(match, max_rating)
    leading = forms["leading"].search(reply)
    stated = [match for form in ("fraction", "named") for match in forms[form].finditer(reply)]
    stated.sort(key=lambda match: match.start("n"))
    is_item = leading and leading["open"] and (stated or _SECOND_ITEM.search(reply, leading.end()))
    if leading and not is_item and not any(_rank(each) == _LAST for each in stated):
        return _in_scale(leading, max_rating)
    return _counting(stated, max_rating)


def locate_final_score(
    reply: str, max_rating: int, unparsed: Unparsed, names: tuple[str, ...] = ()
) -> re.Match[str] | None:
    """The match of the last final score, else of the rating of a JSON object, else of the whole reply."""
    forms = _patterns(max_rating, unparsed == "chat", names)
    if stated := list(forms["final_score"].finditer(reply)):
        return _in_scale(stated[-1], max_rating)
    if keys := [key for key in _keys(reply, forms) if key["n"]]:
        return _counting(keys, max_rating, in_json=True)
    return _in_scale(forms["whole"].search(reply), max_rating)


def rating_of(match: re.Match[str]) -> int:
    """The number of a match; above all scales for letters that only resemble those of a number word."""
    number: str = match["n"].casefold()
    return int(number) if number.isdecimal() else _WORDS.get(number, 1000)


# Kinds of statements: the final rating, a rating, a number with another name, one about something else.
_LAST, _NAMED, _OTHER, _NOT_COUNTED = range(4)


def _rank(match: re.Match[str]) -> int:
    """The kind of a statement, by its name and up to two words before it."""
    group = match.groupdict(default="")
    start = match.start()
    before = group.get("before", _BEFORE.findall(match.string[max(0, start - 40) : start])[0])
    words = {word.lower() for word in _WORD.findall(before)}
    if words & _OF_OTHERS:
        return _NOT_COUNTED
    is_final = any(group.get(kind) for kind in ("final", "after", "last"))
    if is_final or words & _FINAL or group["open"].lower().startswith(("gesamt", "end")):
        return _LAST
    is_other = group.get("other") or group.get("of") or (group.get("name") and words - _OF_THE_REPLY)
    return _OTHER if is_other else _NAMED


def _counting(
    matches: Sequence[re.Match[str]], max_rating: int, *, in_json: bool = False
) -> re.Match[str] | None:
    """The match that counts; None if different ones count equally."""
    ranked = [(_rank(match), match) for match in matches if match["n"]]
    best = min((rank for rank, _ in ranked), default=_NOT_COUNTED)
    if best == _NOT_COUNTED:
        return None
    equal = [match for rank, match in ranked if rank == best]
    if (in_json or best == _OTHER) and len({rating_of(match) for match in equal}) > 1:
        return None
    return _in_scale(equal[-1], max_rating)


def _keys(reply: str, forms: Mapping[str, re.Pattern[str]]) -> list[re.Match[str]]:
    """The keys of ratings in the last JSON value of a reply, whose group ``n`` is None without a number."""
    if "{" not in reply:
        return []
    keys = [match for match in forms["key"].finditer(reply, reply.index("{")) if match["open"]]
    return [key for key in keys if not _NEXT_VALUE.search(reply, key.end(), keys[-1].start())]


def _in_scale(match: re.Match[str] | None, max_rating: int) -> re.Match[str] | None:
    return match if match is not None and rating_of(match) <= max_rating else None
