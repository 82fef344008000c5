"""Direct grading prompts: is the passage relevant? (EXAM++, appendix A); is there an answer at all?

The text is that of the appendix, including the typo "a passages" in Thomas. Line breaks within sentences and
curly quotes come from the page layout, so the templates do not keep them.

The prompt AnswerAttempt: whether an answer attempts to answer the query, or declines.

The classes are those of the metric "No-Answer Detection" of Open RAG Eval. The words are those of exam_pp.

The prompt GradedRelevance: relevance of a passage to a query, from 0 to 3.

The scale and the steps are those of UMBRELA (Upadhyay et al., 2024) in the documentation of Open RAG Eval.
The words are those of exam_pp, so that labels differ from those of UMBRELA's prompt.
"""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import YES_NO, final_score_reader, number_reader

_APPENDIX = "Farzi and Dietz: EXAM++, 2024, appendix A"
_FIELDS = "Question: {query}\nPassage: {context}\nAnswer:"
_CHOICES = ("No", "Yes")

_FAG_INSTRUCTION = (
    "Instruction: Indicate if the passage is relevant for the question. Respond with 'Yes' or 'No'."
)
_SUN_INSTRUCTION = (
    "Instruction: Given a passage and a query, predict whether the passage includes an answer to the query "
    'by producing either "Yes" or "No".'
)

# The examples of Faggioli et al. from TREC Deep Learning, each with passage, question and answer.
_EXAMPLES = """\
Passage: Its 25 drops per ml, you guys are all wrong. If it is water, the standard was changed 15 - 20 years \
ago to make 20 drops = 1mL. The viscosity of most things is temperature dependent, so this would be at room \
temperature. Hope this helps.
Question: how many eye drops per ml
Answer: Yes
Passage: RE: How many eyedrops are there in a 10 ml bottle of Cosopt? My Kaiser pharmacy insists that 2 \
bottles should last me 100 days but I run out way before that time when I am using 4 drops per day. In the \
past other pharmacies have given me 3 10-ml bottles for 100 days. E: How many eyedrops are there in a 10 ml \
bottle of Cosopt? My Kaiser pharmacy insists that 2 bottles should last me 100 days but I run out way before \
that time when I am using 4 drops per day.
Question: how many eye drops per ml
Answer: No
Passage: You can transfer money to your checking account from other Wells Fargo. accounts through Wells \
Fargo Mobile Banking with the mobile app, online, at any. Wells Fargo ATM, or at a Wells Fargo branch. 1 \
Money in — deposits.
Question: can you open a wells fargo account online
Answer: No
Passage: You can open a Wells Fargo banking account from your home or even online. It is really easy to do, \
provided you have all of the appropriate documentation. Wells Fargo has so many bank account options that \
you will be sure to find one that works for you. They offer free checking accounts with free online banking.
Question: can you open a wells fargo account online
Answer: Yes"""


def _yes_no(name: str, template: str, style: str, after: str) -> Prompt:
    return Prompt(
        name=name, short=name.lower().replace("_", "-"), kind="direct", template=template, parse=YES_NO,
        choices=_CHOICES, style=style, cite=f"{after}; {_APPENDIX}",
    )  # fmt: skip


THOMAS = Prompt(
    name="Thomas",
    short="thomas",
    kind="direct",
    template="""Instruction: You are a search quality rater evaluating the relevance of passages. \
Given a query and a passages, you must provide a score on an integer scale of 0 to 2 with the following \
meanings:
2 = highly relevant, very helpful for this query
1 = relevant, may be partly helpful but might contain other irrelevant content
0 = not relevant, should never be shown for this query
"""
    + _FIELDS,
    parse=number_reader(2),
    max_rating=2,
    style="You are a search quality rater evaluating the relevance of passages.",
    cite=f"abridged from Thomas et al., 2023; {_APPENDIX}",
)

_FAGGIOLI = "Faggioli et al., ICTIR 2023"
_SUN = "Sun et al., 2023"

FAG_B = _yes_no(
    "FagB",
    f"{_FAG_INSTRUCTION}\n{_FIELDS}",
    "Indicate if the passage is relevant for the question.",
    _FAGGIOLI,
)
FAG_B_FEW = _yes_no(
    "FagB_few",
    f"{_FAG_INSTRUCTION}\n{_EXAMPLES}\n{_FIELDS}",
    "Indicate if the passage is relevant for the question. (four examples)",
    _FAGGIOLI,
)
HELM = _yes_no(
    "HELM",
    f"Instruction: Does the passage answer the query?\nRespond with 'Yes' or 'No'.\n{_FIELDS}",
    "Does the passage answer the query?",
    "Liang et al., 2022",
)
SUN = _yes_no(
    "Sun",
    f"{_SUN_INSTRUCTION}\n{_FIELDS}",
    "predict whether the passage includes an answer to the query",
    _SUN,
)
SUN_FEW = _yes_no(
    "Sun_few",
    f"{_SUN_INSTRUCTION}\n{_EXAMPLES}\n{_FIELDS}",
    "predict whether the passage includes an answer to the query (four examples)",
    _SUN,
)

DIRECT_PROMPTS = (THOMAS, FAG_B, FAG_B_FEW, HELM, SUN, SUN_FEW)
register(
    DIRECT_PROMPTS,
    aliases={
        "Thomas": ("Thom",),
        "FagB": ("Fag", "FaggioliB"),
        "FagB_few": ("FaggioliB_few",),
    },
)


ANSWER_ATTEMPT = Prompt(
    name="AnswerAttempt",
    short="answer-attempt",
    kind="direct",
    template="""You are given a question and the answer of a system. Decide whether the system attempted to \
answer the question.
Yes: the answer gives information in reply to the question, even if this information is wrong, incomplete or \
uncertain.
No: the answer only says that the system cannot or will not answer, or that it has not enough information. \
Such an answer stays No if it repeats the question, apologises, or asks for more details.

Question: {query}
Answer: {context}

Did the system attempt to answer the question? Respond with 'Yes' or 'No'.""",
    parse=YES_NO,
    choices=("No", "Yes"),
    style="Did the system attempt to answer the question?",
    cite='exam_pp, 2026; after the classes of "No-Answer Detection" in Open RAG Eval (Vectara, 2025)',
    whole_answer=True,
)

register([ANSWER_ATTEMPT])


_HIGHEST = 3

GRADED_RELEVANCE = Prompt(
    name="GradedRelevance",
    short="relevance",
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
