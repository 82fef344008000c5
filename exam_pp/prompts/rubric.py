"""The four grading prompts of the workbench paper (Dietz, SIGIR 2024, Table 2), words as printed."""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.reading import EXTRACTION, rating_reader

_CITE = "Dietz: A Workbench for Autograding Retrieve/Generate Systems, SIGIR 2024, Table 2"

QUESTION_SELF_RATED = Prompt(
    name="QuestionSelfRatedUnanswerablePromptWithChoices",
    kind="question",
    template="""Can the question be answered based on the available context? choose one:
- 5: The answer is highly relevant, complete, and accurate.
- 4: The answer is mostly relevant and complete but may have minor gaps or inaccuracies.
- 3: The answer is partially relevant and complete, with noticeable gaps or inaccuracies.
- 2: The answer has limited relevance and completeness, with significant gaps or inaccuracies.
- 1: The answer is minimally relevant or complete, with substantial shortcomings.
- 0: The answer is not relevant or complete at all.
Question: {question}
Context: {context}""",
    parse=rating_reader(5),
    max_rating=5,
    style="Can the question be answered based on the available context? Choose one",
    cite=_CITE,
)

QUESTION_EXTRACTION = Prompt(
    name="QuestionCompleteConciseUnanswerablePromptWithChoices",
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
    kind="nugget",
    template="""Extract the passage from the text that best relates to the key fact (nugget), \
ensuring relevance and clarity.
Key Fact: {nugget}
Context: {context}""",
    parse=EXTRACTION,
    style="Extract the passage from the text that best relates to the key fact (nugget)",
    cite=_CITE,
)

RUBRIC_PROMPTS = (QUESTION_SELF_RATED, QUESTION_EXTRACTION, NUGGET_SELF_RATED, NUGGET_EXTRACTION)
register(RUBRIC_PROMPTS)
