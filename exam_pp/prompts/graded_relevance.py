"""The prompt GradedRelevance: relevance of a passage to a query, from 0 to 3.

The scale and the steps are those of UMBRELA (Upadhyay et al., 2024) in the documentation of Open RAG Eval.
The words are those of exam_pp, so that labels differ from those of UMBRELA's prompt.
"""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import final_score_reader

_HIGHEST = 3

GRADED_RELEVANCE = Prompt(
    name="GradedRelevance",
    kind="direct",
    template="""You are given a search query and a passage. Judge how relevant the passage is to the query, \
with a score on this scale:
0 = the passage has nothing to do with the query
1 = the passage seems related to the query but does not answer it
2 = the passage has some answer for the query, but the answer may be unclear, or hidden amongst extraneous \
information
3 = the passage is dedicated to the query and contains the exact answer

Query: {query}
Passage: {context}

Proceed in these steps, without writing them down:
1. Consider the intent that underlies the search.
2. Measure how well the content of the passage matches a likely intent (M).
3. Measure how trustworthy the passage is (T).
4. Consider both and how much each of them matters here, and decide on a final score (O).
The final score is a single integer: 0, 1, 2 or 3. Give nothing but the final score, without any reasoning.
##final score:""",
    parse=final_score_reader(_HIGHEST),
    max_rating=_HIGHEST,
    style="Judge how relevant the passage is to the query, from 0 to 3.",
    cite="exam_pp, 2026; after the scale and steps of UMBRELA (Upadhyay et al., 2024, arXiv:2406.06519)",
)

register([GRADED_RELEVANCE], old_names={"GradedRelevance": ("Umbrela",)})
