"""Prompts that ask a language model whether a claim is consistent with its source."""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import YES_NO

CLAIM_SLOT = "claim"
"""The placeholder of an answer, or of a part of it."""

FACTUAL_CONSISTENCY = Prompt(
    name="FactualConsistency",
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

CLAIM_PROMPTS = (FACTUAL_CONSISTENCY,)
register(CLAIM_PROMPTS)
