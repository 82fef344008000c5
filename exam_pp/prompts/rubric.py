"""Prompts for bank entries: self-rating, extraction, extraction with answer key, and answer verification.

The text is that of Table 2 in the workbench paper (Dietz, SIGIR 2024) and in EXAM++ (Farzi and Dietz, 2024).
"""

from __future__ import annotations

from dataclasses import replace

from exam_pp.prompts.answer_key import ANSWER_KEY, EXTRACTIVE_RULES
from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import (
    ANY_ANSWER,
    EXTRACTION,
    EXTRACTIVE_EXTRACTION,
    YES_NO,
    rating_reader,
)

_CITE = "Dietz: A Workbench for Autograding Retrieve/Generate Systems, SIGIR 2024, Table 2"

_SCALE = """Can the question be answered based on the available context? {choose}
- 5: The answer is highly relevant, complete, and accurate.
- 4: The answer is mostly relevant and complete but may have minor gaps or inaccuracies.
- 3: The answer is partially relevant and complete, with noticeable gaps or inaccuracies.
- 2: The answer has limited relevance and completeness, with significant gaps or inaccuracies.
- 1: The answer is minimally relevant or complete, with substantial shortcomings.
- 0: The answer is not relevant or complete at all."""
_FIELDS = "Question: {question}\nContext: {context}"

QUESTION_SELF_RATED = Prompt(
    name="QuestionSelfRatedUnanswerablePromptWithChoices",
    short="self-rated",
    kind="question",
    template=_SCALE.format(choose="choose one:") + "\n" + _FIELDS,
    parse=rating_reader(5),
    max_rating=5,
    style="Can the question be answered based on the available context? Choose one",
    cite=_CITE,
)

QUESTION_EXTRACTION = Prompt(
    name="QuestionCompleteConciseUnanswerablePromptWithChoices",
    short="answer",
    kind="question",
    template="""provide a complete and concise answer to the question based on the context.
Question: {question}
Context: {context}""",
    parse=EXTRACTION,
    style="provide a complete and concise answer to the question based on the context.",
    cite=_CITE,
)

NUGGET_SELF_RATED = Prompt(
    name="NuggetSelfRatedPrompt",
    short="nugget-self-rated",
    kind="nugget",
    template="""Given the context, evaluate the coverage of the specified key fact (nugget). Use this scale:
- 5: Detailed, clear coverage.
- 4: Sufficient coverage, minor omissions.
- 3: Mentioned, some inaccuracies or lacks detail.
- 2: Briefly mentioned, significant omissions or inaccuracies.
- 1: Minimally mentioned, largely inaccurate.
- 0: Not mentioned at all.
Key Fact: {nugget}
Context: {context}""",
    parse=rating_reader(5),
    max_rating=5,
    style="Given the context, evaluate the coverage of the specified key fact (nugget).",
    cite=_CITE,
)

NUGGET_EXTRACTION = Prompt(
    name="NuggetExtractionPrompt",
    short="nugget-extract",
    kind="nugget",
    template="""Extract the passage from the text that best relates to the key fact (nugget), \
ensuring relevance and clarity.
Key Fact: {nugget}
Context: {context}""",
    parse=EXTRACTION,
    style="Extract the passage from the text that best relates to the key fact (nugget)",
    cite=_CITE,
)

_EXAM = "Farzi and Dietz: EXAM++, 2024"

QUESTION_SELF_RATED_CHAT = replace(
    QUESTION_SELF_RATED,
    name="QuestionSelfRatedPrompt",
    short="self-rated-chat",
    system=_SCALE.format(choose="choose one grade:")
    + "\nYou must only respond with the numerical grade, no further explanation.",
    template=_FIELDS,
    version=2,
    cite=f"{_CITE} (the scale), and the code of the workbench (the messages)",
)
"""For chat models: the scale is a system message, the user message has only the question and the context."""

QUESTION_COMPLETE_CONCISE = replace(
    QUESTION_EXTRACTION,
    name="QuestionCompleteConcisePrompt",
    short="answer-always",
    parse=ANY_ANSWER,
    info={"check_unanswerable": False},
)
QUESTION_ANSWER_KEY = replace(
    QUESTION_EXTRACTION,
    name="QuestionCompleteConcisePromptWithAnswerKey",
    short="answer-key",
    parse=ANSWER_KEY,
    answer_key=True,
    cite=f"{_CITE}; answers checked as in {_EXAM}, section 4.2.1",
)
QUESTION_ANSWER_KEY_2 = replace(
    QUESTION_ANSWER_KEY, name="QuestionCompleteConcisePromptWithAnswerKey2", short="answer-key-2"
)

EXTRACTIVE_QA = Prompt(
    name="QuestionExtractiveQA",
    short="extract",
    kind="question",
    template="question: {question}\ncontext: {context}",
    parse=EXTRACTIVE_EXTRACTION,
    style="question: context:",
    cite=f"{_EXAM}, section 4.2.1, SQuAD2-tuned models",
)
"""For extractive models, which take question and passage as separate inputs without an instruction."""
EXTRACTIVE_QA_ANSWER_KEY = replace(
    EXTRACTIVE_QA,
    name="QuestionExtractiveQAWithAnswerKey",
    short="extract-key",
    parse=EXTRACTIVE_RULES["paper"],
    answer_key=True,
)

ANSWER_VERIFICATION = Prompt(
    name="QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2",
    short="answer-verification",
    kind="verification",
    template="""For the question "{question}" the correct answer is "{correct_answer}". \
Is "{answer}" an equally correct response to this question? Answer yes or no.""",
    parse=YES_NO,
    choices=("no", "yes"),
    answer_key=True,
    style="Is this an equally correct response to this question? Answer yes or no.",
    cite=f"{_EXAM}, section 4.2.1 and Table 2",
)

RUBRIC_PROMPTS = (
    QUESTION_SELF_RATED,
    QUESTION_SELF_RATED_CHAT,
    QUESTION_EXTRACTION,
    QUESTION_COMPLETE_CONCISE,
    QUESTION_ANSWER_KEY,
    QUESTION_ANSWER_KEY_2,
    EXTRACTIVE_QA,
    EXTRACTIVE_QA_ANSWER_KEY,
    NUGGET_SELF_RATED,
    NUGGET_EXTRACTION,
)
register((*RUBRIC_PROMPTS, ANSWER_VERIFICATION))
