"""Prompts about a claim: whether a source is consistent with it, and whether a cited passage supports it."""

from __future__ import annotations

import re

from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import YES_NO, label_rule

CLAIM_SLOT = "claim"
"""The placeholder of an answer, or of a part of it."""

FACTUAL_CONSISTENCY = Prompt(
    name="FactualConsistency",
    short="factual-consistency",
    kind="claim",
    template="""Instruction: Decide whether the source supports everything that the claim states. Judge only \
by the source, not by your own knowledge. A claim with any statement that the source contradicts or does not \
contain is not supported. Respond with 'Yes' if the source supports the whole claim, otherwise with 'No'.
Source: {context}
Claim: {claim}
Answer:""",
    parse=YES_NO,
    choices=("No", "Yes"),
    style="Decide whether the source supports everything that the claim states.",
    cite="exam_pp; the question of Honovich et al.: TRUE, 2022",
)

# The negation is a part of the pattern: a search before every label would take quadratic time.
_LABEL = re.compile(
    r"(?P<negation>\b(?:not|no|without|neither|nor)\s+(?:an?\s+|any\s+)?)?"
    r"(?<!\w)(?P<n>(?P<degree>full|partial|no)[\s_-]+support)(?!\w)",
    re.IGNORECASE,
)


SUPPORT = label_rule(
    "support",
    "full_support is 2, partial_support is 1, no_support is 0; a reply without a label, with several "
    "ones, or with a negated one, stays ungraded",
    _LABEL,
    [label.removesuffix("_support") for label in SUPPORT_LABELS],
    in_markup=True,
)

CITATION_SUPPORT = Prompt(
    name="CitationSupport",
    short="citation-support",
    kind="support",
    template="""Instruction: A statement cites a passage. Decide how far the passage supports the statement. \
Judge only by the passage, not by your own knowledge. Choose one label:
- full_support: The passage contains all information of the statement.
- partial_support: The passage contains a part of the information; the rest is missing.
- no_support: The passage contains none of the information, or contradicts it.
Respond with the label only.
Statement: {claim}
Passage: {context}
Label:""",
    parse=SUPPORT,
    choices=SUPPORT_LABELS,
    max_rating=2,
    style="Decide how far the passage supports the statement.",
    cite="exam_pp; the levels of Open RAG Eval's Citation Metric and of the TREC 2024 RAG track",
)

CLAIM_PROMPTS = (FACTUAL_CONSISTENCY, CITATION_SUPPORT)
register(CLAIM_PROMPTS)
