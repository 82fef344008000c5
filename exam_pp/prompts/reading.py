"""Reading rules: ratings, yes/no answers and extracted answers from replies, by functions that never raise.

The rule for ratings is that of EXAM++ (Farzi and Dietz, 2024): a number of the scale is the rating. Without
a number, an expression of unanswerability or an ill-formed answer is 0, and any other reply is 1. Replies of
chat models are read with more forms (``chat``): their numbers stand in sentences, and may be words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from exam_pp.banks import Entry
from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.prompts.base import ReadingRule, ReadReply, Unparsed
from exam_pp.prompts.markup import END_OF_TURN, without_markup
from exam_pp.prompts.rating_forms import locate_final_score, locate_rating, rating_of

UNANSWERABLE = (
    "unanswerable",
    "no",
    "no answer",
    "not enough information",
    "unknown",
    "it is not possible to tell",
    "it does not say",
    "no relevant information",
)
"""The expressions of the paper (EXAM++, 2024)."""

_ALL_UNANSWERABLE = (
    *UNANSWERABLE,
    *("nicht beantwortbar", "unbeantwortbar", "nicht zu beantworten", "kann nicht beantwortet werden"),
    *("keine antwort", "nicht genug informationen", "nicht genügend informationen", "unbekannt", "nein"),
    *("sans réponse", "pas de réponse", "aucune réponse", "impossible de répondre", "inconnu", "non"),
    *("pas assez d'informations", "informations insuffisantes", "information insuffisante"),
    *("sin respuesta", "no hay respuesta", "no se puede responder", "no tiene respuesta", "desconocido"),
    *("no hay suficiente información", "no hay información suficiente", "información insuficiente"),
    *("sem resposta", "não há resposta", "não é possível responder", "não pode ser respondida"),
    *("não há informação suficiente", "informação insuficiente", "informações insuficientes"),
    *("desconhecido", "não", "senza risposta", "nessuna risposta", "non è possibile rispondere"),
    *("impossibile rispondere", "informazioni insufficienti", "sconosciuto"),
    *("нет ответа", "без ответа", "невозможно ответить", "недостаточно информации", "неизвестно", "нет"),
    *("无法回答", "無法回答", "不能回答", "无法作答", "没有答案", "沒有答案", "信息不足", "未知", "否"),
    *("回答不能", "回答不可", "回答できません", "答えられません", "情報不足", "情報が不足しています", "不明"),
    *("いいえ", "답할 수 없음", "답변할 수 없음", "답변 불가", "정보 부족", "알 수 없음"),
    *("لا يمكن الإجابة", "غير قابل للإجابة", "لا توجد إجابة", "معلومات غير كافية", "غير معروف", "لا"),
    *("keine information", "keine informationen", "keine relevanten informationen"),
    *("die frage kann nicht beantwortet werden", "aucune information", "pas d'information"),
    *("sin información", "no hay información", "sem informação", "não há informação"),
    *("нет информации", "没有相关信息", "没有信息", "无法确定", "情報がありません", "該当なし"),
    *("답변할 수 없습니다", "알 수 없습니다", "정보가 없습니다", "لا توجد معلومات", "لا يوجد جواب"),
    *("उत्तर नहीं दिया जा सकता", "कोई उत्तर नहीं", "पर्याप्त जानकारी नहीं", "अनुत्तरणीय", "अज्ञात", "नहीं"),
)
"""Those of the paper, and the same in ten other languages."""

NOT_A_NUMBER = "the reply is not a number of the scale"
NOT_YES_OR_NO = "the reply is neither yes nor no"
NOT_A_LABEL = "the reply is no known label"
NOT_CHECKABLE = "the gold answer cannot be compared with text"
UNREADABLE = frozenset({NOT_A_NUMBER, NOT_YES_OR_NO, NOT_A_LABEL, NOT_CHECKABLE})
"""Reasons for an unreadable reply, as files store them; `exam-pp reread` tries these replies again."""

_CLOSE = r"[\"'`”’*_)\]}]*"
_WRAP = r"[\s\"'`“”‘’«»*_#~|()\[\]{}<>•.,:;!?=…。：–—-]*"
_LABEL = re.compile(r"^[\s\"'`(\[]*(?:[a-z]|[ivx]{1,5})[\s\"'`.:)\]]*$", re.IGNORECASE)
_STRIP = string.punctuation + string.whitespace + "“”‘’«»…–—¿¡。！？、，؟।"


def find_rating(
    reply: str, max_rating: int, unparsed: Unparsed = "default", names: tuple[str, ...] = ()
) -> int | None:
    """Find the integer from 0 to ``max_rating`` that a reply states as its rating, or None.

    Numbers in fractions, decimals, ranges, percentages, units and names ("1/4 inch", "3 or 4 months",
    "Article 5") are not ratings. The ``1.`` of a list is not a rating either if a rating or a second item
    follows. In JSON, the key names the rating. ``names`` are further names of the rating.

    With ``chat``, it also reads "the coverage of the key fact is 5: ...", "4.0" and "four".
    """
    match = locate_rating(without_markup(reply), max_rating, unparsed, names)
    return None if match is None else rating_of(match)


def is_unanswerable(reply: str) -> bool:
    """Whether a reply is one of the papers' expressions of unanswerability, or the same in another language.

    The comparison ignores case, surrounding punctuation, whitespace and markup, and allows an edit distance
    below 20 % of the longer string.
    """
    return _matches_unanswerable(without_markup(reply))


def _matches_unanswerable(reply: str) -> bool:
    text = " ".join(reply.lower().split()).strip(_STRIP)
    nearest = process.extractOne(text, _ALL_UNANSWERABLE, scorer=Levenshtein.normalized_distance)
    return nearest[1] < 0.2


def is_ill_formed(reply: str) -> bool:
    """Whether a reply is empty, a lone letter or a choice label such as ``(iii)`` or ``B)``.

    Markup is ignored, but a tag alone, such as ``<div>``, is an answer.
    """
    plain = without_markup(reply)
    return _is_label(plain if plain is reply or plain.strip(_STRIP) else END_OF_TURN.sub("", reply))


def _is_label(reply: str) -> bool:
    return not reply.strip(_STRIP) or bool(_LABEL.match(reply))


def read_rating(
    reply: str, max_rating: int, unparsed: Unparsed = "default", names: tuple[str, ...] = ()
) -> ReadReply:
    """Read a reply to a self-rating prompt; the default without a number is 0 or 1."""
    if unparsed == "published":
        return _read_as_published(reply, max_rating)
    verdict = read_number(reply, max_rating, unparsed, names)
    if verdict.rating is not None:
        return verdict
    if unparsed == "chat" and is_unanswerable(reply):
        return ReadReply(0, False, "default-0")
    if unparsed in ("ungraded", "chat"):
        return verdict
    if is_unanswerable(reply) or is_ill_formed(reply):
        return ReadReply(0, False, "default-0")
    return ReadReply(1, True, "default-1")


def _read_as_published(reply: str, max_rating: int) -> ReadReply:
    """Apply the rule of the published code, whose defaults are swapped, to reproduce published numbers."""
    match = re.fullmatch(r"\W*(\d)\W*", reply)
    if match and int(match[1]) <= max_rating:
        return ReadReply(int(match[1]), int(match[1]) > 0)
    # The published code treats a lone letter without punctuation as an answer.
    if _matches_unanswerable(reply) or (_is_label(reply) and not reply.strip().isalpha()):
        return ReadReply(1, True, "default-1")
    return ReadReply(0, False, "default-0")


def read_number(
    reply: str, max_rating: int, unparsed: Unparsed = "default", names: tuple[str, ...] = ()
) -> ReadReply:
    """Read a reply whose number is the grade; a reply without a number stays ungraded (prompt Thomas)."""
    return _verdict(locate_rating(without_markup(reply), max_rating, unparsed, names))


def _verdict(match: re.Match[str] | None) -> ReadReply:
    if match is None:
        return ReadReply(None, False, reason=NOT_A_NUMBER)
    return ReadReply(rating_of(match), rating_of(match) > 0)


def read_final_score(
    reply: str, max_rating: int, unparsed: Unparsed = "default", names: tuple[str, ...] = ()
) -> ReadReply:
    """Read a reply that ends with a final score: the last ``final score: 2`` is the grade, or a lone integer.

    In a JSON object, the key ``O`` (or ``overall``, ``score`` and the like) is the final score, as in
    UMBRELA. Other numbers, such as "on the scale of 0 to 3", do not count: such a reply stays ungraded.
    """
    return _verdict(locate_final_score(without_markup(reply), max_rating, unparsed, names))


@lru_cache(maxsize=16)
def _choice(choices: tuple[str, str]) -> re.Pattern[str]:
    # "No one knows", "no information", "No. 5" and "yes and no" are not choices, so the word must be followed
    # by the end, a break, or the beginning of an explanation.
    words = "|".join(map(re.escape, sorted(choices, key=len, reverse=True)))
    return re.compile(
        rf"^{_WRAP}(?:(?:the\s+)?(?:final\s+)?answer[*_\"']*(?:\s+is|\s*:|[^\S\n]*\n){_WRAP})?"
        rf"(?P<n>{words})(?!\W+(?:and|or)\W+(?:{words})\b)"
        rf"{_CLOSE}(?:\s*$|[.,;:!?。，！–—](?!\s*\d)|\s+[-–—(]|\s*\n"
        r"|\s+(?:because|since|as|the|this|that|it|there)\b)",
        re.IGNORECASE,
    )


def find_yes_no(reply: str, choices: tuple[str, str] = ("no", "yes")) -> bool | None:
    """Return True for yes (``Yes.``, ``**Yes**``, ``yes, because ...``), False for no, else None.

    ``choices`` are the words for no and yes.
    """
    match = _choice(choices).match(without_markup(reply))
    return None if match is None else match["n"].lower() == choices[1].lower()


def yes_no_reader(choices: tuple[str, str] = ("No", "Yes")) -> ReadingRule:
    """The reading rule of a yes/no prompt; ``choices`` are the words for no and yes."""
    no, yes = choices
    description = f"{yes.lower()} is 1 and {no.lower()} is 0; any other reply stays ungraded"
    return ReadingRule(
        "yes-no",
        description,
        lambda reply, _entry, _unparsed: read_yes_no(reply, choices),
        lambda reply, _unparsed: _choice(choices).match(reply),
    )


def read_yes_no(reply: str, choices: tuple[str, str] = ("no", "yes")) -> ReadReply:
    """Read a reply to a yes/no prompt: yes is 1, no is 0, any other reply stays ungraded."""
    yes = find_yes_no(reply, choices)
    return ReadReply(None, False, reason=NOT_YES_OR_NO) if yes is None else ReadReply(None, yes)


def read_extraction(reply: str, _entry: object = None, _unparsed: Unparsed = "default") -> ReadReply:
    """Read a reply to an extraction prompt without answer key: wrong if unanswerable or ill-formed."""
    return ReadReply(None, not (is_unanswerable(reply) or is_ill_formed(reply)))


def read_any_answer(reply: str, _entry: object = None, _unparsed: Unparsed = "default") -> ReadReply:
    """Read a reply to an extraction prompt that has no "unanswerable": any well-formed reply is an answer."""
    return ReadReply(None, not is_ill_formed(reply))


def rating_reader(max_rating: int, names: tuple[str, ...] = ()) -> ReadingRule:
    """The reading rule of a self-rating prompt; ``names`` are further names of the rating in replies."""
    return ReadingRule(
        "rating",
        f"the number from 0 to {max_rating} that the reply states; without a number, an expression of "
        "unanswerability or an ill-formed reply is 0, and any other text is 1 (--unparsed changes this)",
        lambda reply, _entry, unparsed: read_rating(reply, max_rating, unparsed, names),
        lambda reply, unparsed: locate_rating(reply, max_rating, unparsed, names),
    )


def number_reader(max_rating: int, names: tuple[str, ...] = ()) -> ReadingRule:
    """The reading rule of a prompt whose grade is a number from 0 to ``max_rating``, without a default."""
    return ReadingRule(
        "number",
        f"the number from 0 to {max_rating} that the reply states; a reply without a number stays ungraded",
        lambda reply, _entry, unparsed: read_number(reply, max_rating, unparsed, names),
        lambda reply, unparsed: locate_rating(reply, max_rating, unparsed, names),
    )


def final_score_reader(max_rating: int, names: tuple[str, ...] = ()) -> ReadingRule:
    """The reading rule of a prompt that asks for ``##final score: n``, from 0 to ``max_rating``."""
    return ReadingRule(
        "final-score",
        f"the final score from 0 to {max_rating} that the reply states (in JSON: the key O), or the number "
        "that is the whole reply; any other reply stays ungraded",
        lambda reply, _entry, unparsed: read_final_score(reply, max_rating, unparsed, names),
        lambda reply, unparsed: locate_final_score(reply, max_rating, unparsed, names),
    )


def label_rule(
    name: str,
    description: str,
    pattern: re.Pattern[str],
    degrees: Sequence[str],
    *,
    in_markup: bool = False,
    whole_reply: bool = False,
) -> ReadingRule:
    """The rule of labels that stand anywhere in a reply, unless it has different ones or negates one.

    ``pattern`` matches a label as group ``n``, the word in which labels differ as ``degree``, and a negation
    of the label as ``negation``. The rating is the position in ``degrees``. With ``in_markup``, tags of the
    reply may be labels; else they are removed.
    """

    def find(reply: str, _unparsed: Unparsed) -> re.Match[str] | None:
        matches = list(pattern.finditer(reply))
        if any(match["negation"] for match in matches):
            return None
        return matches[0] if len({match["degree"].lower() for match in matches}) == 1 else None

    def read(reply: str, _entry: Entry | None, unparsed: Unparsed) -> ReadReply:
        match = find(reply if in_markup else without_markup(reply), unparsed)
        if match is None:
            return ReadReply(None, False, reason=NOT_A_LABEL)
        rating = degrees.index(match["degree"].lower())
        return ReadReply(rating, rating > 0)

    return ReadingRule(name, description, read, find, whole_reply)


# The negation is a part of the pattern: a search before every label would take quadratic time.
_SUPPORT_LABEL = re.compile(
    r"(?P<negation>\b(?:not|no|without|neither|nor)\s+(?:an?\s+|any\s+)?)?"
    r"(?<!\w)(?P<n>(?P<degree>full|partial|no)[\s_-]+support)(?!\w)",
    re.IGNORECASE,
)


SUPPORT = label_rule(
    "support",
    "full_support is 2, partial_support is 1, no_support is 0; a reply without a label, with several "
    "ones, or with a negated one, stays ungraded",
    _SUPPORT_LABEL,
    [label.removesuffix("_support") for label in SUPPORT_LABELS],
    in_markup=True,
)


YES_NO = yes_no_reader()
EXTRACTION = ReadingRule(
    "extraction",
    "1 for an answer; 0 for an expression of unanswerability or an ill-formed reply",
    read_extraction,
)
ANY_ANSWER = ReadingRule(
    "any-answer", "1 for any well-formed reply, 0 for an ill-formed one", read_any_answer
)


def for_extractive_model(rule: ReadingRule) -> ReadingRule:
    """Adapt a rule to extractive models, whose empty span means that the passage contains no answer."""
    return ReadingRule(
        f"extractive-{rule.name}",
        f"{rule.description}; an empty span is unanswerable",
        lambda reply, entry, unparsed: rule(reply if reply.strip() else UNANSWERABLE[0], entry, unparsed),
    )


EXTRACTIVE_EXTRACTION = for_extractive_model(EXTRACTION)
