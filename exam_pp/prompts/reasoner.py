"""RAGElo's reasoner: why a passage is relevant to a query, in a sentence with a label from 0 to 2.

The text is that of appendix A.1 of the paper, whose page layout breaks its lines and spaces its letters. Its
slot ``document`` is the passage here.
"""

from __future__ import annotations

import re

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import label_rule

RELEVANCE_LABELS = ("Not relevant", "Somewhat relevant", "Very relevant")
"""How relevant a passage is, worst first."""

_DEGREES = ("not", "somewhat", "very")
_RELEVANT = r"[\s_*-]{1,5}relevant(?!\w)"
_NEGATION = (
    r"(?:(?<!\w)(?:not|no|never|neither|nor|none|without|hardly|barely|scarcely|cannot|far\s+from"
    r"|less\s+than|anything\s+but)|n['’]t)"
)
# A word of this list begins another clause, which a negation before it does not reach.
_SAME_CLAUSE = (
    r"(?!(?:relevant|but|yet|though|although|however|while|and|or|so|because|since|therefore|thus|hence"
    r"|making|makes)\b)"
)
_WORD = rf"[^\S\n]++{_SAME_CLAUSE}[\w'’]++"
# The negation is a part of the pattern: a search before every label would take quadratic time.
_LABEL = re.compile(
    rf"(?P<negation>{_NEGATION}(?:{_WORD}){{0,4}}?\s++(?=(?:somewhat|very){_RELEVANT})"
    rf"|{_NEGATION}(?:{_WORD})?\s++(?=not{_RELEVANT}))?"
    rf"(?<!\w)(?P<n>(?P<degree>{'|'.join(_DEGREES)}){_RELEVANT})",
    re.IGNORECASE,
)


RELEVANCE_LABEL = label_rule(
    "relevance-label",
    "very relevant is 2, somewhat relevant is 1, not relevant is 0, wherever it stands; a reply without a "
    "label, with several ones, or with a negated one, stays ungraded",
    _LABEL,
    _DEGREES,
    whole_reply=True,
)


def find_relevance_label(reply: str) -> int | None:
    """Find the rating of the label, such as "somewhat relevant", that a reply contains anywhere.

    >>> find_relevance_label("The document is on topic and very relevant to the question.")
    2
    >>> find_relevance_label("The document is not very relevant.") is None
    True

    ``reply``: A sentence without thinking text. Returns 0, 1 or 2; None for a reply without a label, with
    several different ones, or with a negated one.
    """
    return RELEVANCE_LABEL.read(reply, None, "ungraded").rating


REASONER = Prompt(
    name="RAGEloReasoner",
    short="ragelo-reasoner",
    kind="direct",
    template="""You are an expert document annotator. Your job is to evaluate whether a document contains \
relevant information to answer a user's question.
Please act as an impartial relevance annotator for a search engine. Your goal is to evaluate the relevancy \
of the documents given a user question.
You should write one sentence explaining why the document is relevant or not for the user question. A \
document can be:
- Not relevant: The document is not on topic.
- Somewhat relevant: The document is on topic but does not fully answer the user question.
- Very relevant: The document is on topic and answers the user's question.
[user question]
{query}
[document content]
{context}""",
    parse=RELEVANCE_LABEL,
    choices=RELEVANCE_LABELS,
    max_rating=2,
    style="Write one sentence explaining why the document is relevant or not for the user question.",
    cite="Rackauckas et al.: RAGElo, 2024, appendix A.1",
)

register([REASONER])
