"""The prompt AnswerAttempt: whether an answer attempts to answer the query, or declines.

The classes are those of the metric "No-Answer Detection" of Open RAG Eval. The words are those of exam_pp.
"""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import YES_NO

ANSWER_ATTEMPT = Prompt(
    name="AnswerAttempt",
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
