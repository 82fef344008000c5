"""Prompts that generate a test bank from a query (Dietz, SIGIR 2024, Table 1), or queries from a document.

TREC DL prompts break a query into questions or nuggets; TREC CAR prompts explore one of its subtopics. The
JSON instruction has square brackets as in EXAM++, Table 1; the workbench paper prints braces. The number 10
of the paper is a placeholder here, so that users can request another number.

Prompts that make a model write the queries that users may ask about a document.

The task is that of section 4 of RAGElo (Rackauckas et al., 2024), after InPars and Promptagator: up to ten
questions about a long passage, with queries of users as few-shot examples. The paper does not print its
prompt; the texts are ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from exam_pp.banks import Entry, EntryKind
from exam_pp.prompts.base import Prompt, ReadingRule, ReadReply, Unparsed, register
from exam_pp.prompts.entry_list import read_entries

PUBLISHED_COUNT = 10
"""Number of entries that the TREC DL prompts of the paper ask for."""

FACET_SLOT = "subtopic"
"""The placeholder of a facet's text."""

COUNT_SLOT = "count"
"""The placeholder of the number of entries."""

MAX_NUGGET_WORDS = 4
"""The limit that the nugget prompts state."""

_CITE = "Dietz: A Workbench for Autograding Retrieve/Generate Systems, SIGIR 2024, Table 1"


def _list_reader(key: str) -> ReadingRule:
    def read(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
        entries = read_entries(reply, key)
        reason = None if entries else f"the reply does not contain a list of {key}"
        return ReadReply(None, bool(entries), reason=reason)

    return ReadingRule(key, f"as a list of {key}: JSON, or a numbered or bulleted list", read)


LIST_RULES: Mapping[str, ReadingRule] = {key: _list_reader(key) for key in ("questions", "nuggets")}
"""Reading rules for generated entries, by the kind of entry in the plural."""
_QUESTIONS, _NUGGETS = LIST_RULES["questions"], LIST_RULES["nuggets"]

_QUESTION_INSTRUCTION = """Give the question set in the following JSON format:
```json
{{"questions":[question_text_1, question_text_2,...]}}
```"""
_NUGGET_INSTRUCTION = """Give the nugget set in the following JSON format:
```json
{{"nuggets":[nugget_text_1, nugget_text_2,...]}}
```"""

QUESTIONS_DL = Prompt(
    name="QuestionGenerationDL",
    short="question-generation-dl",
    kind="generate",
    template=(
        "Break the query '{query}' into concise questions that must be answered. Generate {count} concise "
        "insightful questions that reveal whether information relevant for '{query}' was provided, "
        "showcasing a deep understanding of the subject matter. Avoid basic or introductory-level "
        "inquiries. Keep the questions short. " + _QUESTION_INSTRUCTION
    ),
    parse=_QUESTIONS,
    style="Break the query into concise questions...",
    cite=_CITE,
)
NUGGETS_DL = Prompt(
    name="NuggetGenerationDL",
    short="nugget-generation-dl",
    kind="generate",
    template=(
        "Break the query '{query}' into concise nuggets that must be mentioned. Generate {count} concise "
        "insightful nuggets that reveal whether information relevant for '{query}' was provided, "
        "showcasing a deep understanding of the subject matter. Avoid basic or introductory-level nuggets. "
        "Keep nuggets to a maximum of 4 words. " + _NUGGET_INSTRUCTION
    ),
    parse=_NUGGETS,
    style="Break the query into concise nuggets...",
    cite=_CITE,
)
QUESTIONS_CAR = Prompt(
    name="QuestionGenerationCAR",
    short="question-generation-car",
    kind="generate",
    template=(
        "Explore the connection between '{query}' with a specific focus on the subtopic '{subtopic}'. "
        "Generate insightful questions that delve into advanced aspects of '{subtopic}', showcasing a deep "
        "understanding of the subject matter. Avoid basic or introductory-level inquiries. "
        + _QUESTION_INSTRUCTION
    ),
    parse=_QUESTIONS,
    style="Explore the connection...",
    cite=_CITE,
)
NUGGETS_CAR = Prompt(
    name="NuggetGenerationCAR",
    short="nugget-generation-car",
    kind="generate",
    template=(
        "Explore the connection between '{query}' with a specific focus on the subtopic '{subtopic}'. "
        "Generate insightful nuggets (key facts) that delve into advanced aspects of '{subtopic}', "
        "showcasing a deep understanding of the subject matter. Avoid basic or introductory-level nuggets. "
        "Keep nuggets to a maximum of 4 words. " + _NUGGET_INSTRUCTION
    ),
    parse=_NUGGETS,
    style="Explore the connection...",
    cite=_CITE,
)

_REPAIR = "\n\nNo list of {key} could be read from that reply. Reply with nothing but the JSON. "
_REPAIR_CITE = "exam_pp, 2026; the instruction as in " + _CITE
QUESTIONS_REPAIR = Prompt(
    name="QuestionGenerationRepair",
    short="question-generation-repair",
    kind="generate",
    template=_REPAIR.replace("{key}", "questions") + _QUESTION_INSTRUCTION,
    parse=_QUESTIONS,
    style="No list of questions could be read from that reply.",
    cite=_REPAIR_CITE,
)
NUGGETS_REPAIR = Prompt(
    name="NuggetGenerationRepair",
    short="nugget-generation-repair",
    kind="generate",
    template=_REPAIR.replace("{key}", "nuggets") + _NUGGET_INSTRUCTION,
    parse=_NUGGETS,
    style="No list of nuggets could be read from that reply.",
    cite=_REPAIR_CITE,
)

_TOP_UP_CITE = "exam_pp, 2026"
QUESTIONS_TOP_UP = Prompt(
    name="QuestionGenerationTopUp",
    short="question-generation-top-up",
    kind="generate",
    template=(
        "Generate {count} more concise insightful questions for '{query}'. They must ask about "
        "something else than the questions above. Keep the questions short. Reply with nothing but JSON in "
        "the format above."
    ),
    parse=_QUESTIONS,
    style="Generate more concise insightful questions...",
    cite=_TOP_UP_CITE,
)
NUGGETS_TOP_UP = Prompt(
    name="NuggetGenerationTopUp",
    short="nugget-generation-top-up",
    kind="generate",
    template=(
        "Generate {count} more concise insightful nuggets for '{query}'. They must be about something "
        "else than the nuggets above. Keep nuggets to a maximum of 4 words. Reply with nothing but JSON in "
        "the format above."
    ),
    parse=_NUGGETS,
    style="Generate more concise insightful nuggets...",
    cite=_TOP_UP_CITE,
)

GENERATION_PROMPTS: Mapping[tuple[EntryKind, bool], Prompt] = {
    ("question", False): QUESTIONS_DL,
    ("question", True): QUESTIONS_CAR,
    ("nugget", False): NUGGETS_DL,
    ("nugget", True): NUGGETS_CAR,
}
"""Prompts by the kind of entry and whether they explore a subtopic (facet)."""

REPAIR_PROMPTS: Mapping[EntryKind, Prompt] = {"question": QUESTIONS_REPAIR, "nugget": NUGGETS_REPAIR}
"""The prompt that follows a reply without a list, by the kind of entry."""

TOP_UP_PROMPTS: Mapping[EntryKind, Prompt] = {"question": QUESTIONS_TOP_UP, "nugget": NUGGETS_TOP_UP}
"""The prompt that follows a list with fewer entries than requested, by the kind of entry."""


def explores_facets(prompt: Prompt) -> bool:
    """Whether the prompt asks about a facet of a query, not about the whole query."""
    return FACET_SLOT in prompt.slots


def requests_number(prompt: Prompt) -> bool:
    """Whether the prompt contains the number of entries that the model is to list."""
    return COUNT_SLOT in prompt.slots


register((*GENERATION_PROMPTS.values(), *REPAIR_PROMPTS.values(), *TOP_UP_PROMPTS.values()))


EXAMPLES_SLOT = "user_queries"
"""The placeholder of the queries of users, one on each line."""

_QUERIES_CITE = (
    "exam_pp, 2026; the task of Rackauckas et al.: Evaluating RAG-Fusion with RAGElo, LLM4Eval 2024, "
    "section 4"
)

_QUERIES_TASK = (
    "Here is a part of a document.\n\nDocument: {context}\n\n"
    "Write {count} different questions that a user could ask a search engine or an assistant, and that the "
    "document answers. "
)
_QUERIES_STYLE = (
    "Write like the users who asked these questions:\n\n{user_queries}\n\nDo not repeat their questions. "
)
_QUERIES_RULES = (
    "The user has not seen the document: each question must make sense on its own, so name the products, "
    'persons and places that it is about, and do not write "the document" or "the text". Ask for facts and '
    "explanations that matter to the user, some of them from several parts of the document. If the document "
    "answers fewer questions, write fewer.\n\n"
    """Give the question set in the following JSON format:
```json
{{"questions":[question_text_1, question_text_2,...]}}
```"""
)

QUERIES = Prompt(
    name="QueryGeneration",
    short="query-generation",
    kind="query",
    template=_QUERIES_TASK + _QUERIES_RULES,
    parse=LIST_RULES["questions"],
    style="Write questions that the document answers.",
    cite=_QUERIES_CITE,
)
QUERIES_FEW_SHOT = Prompt(
    name="QueryGenerationFewShot",
    short="query-generation-few-shot",
    kind="query",
    template=_QUERIES_TASK + _QUERIES_STYLE + _QUERIES_RULES,
    parse=LIST_RULES["questions"],
    style="Write questions that the document answers, like these users.",
    cite=_QUERIES_CITE,
)
QUERIES_TOP_UP = Prompt(
    name="QueryGenerationTopUp",
    short="query-generation-top-up",
    kind="query",
    template=(
        "Write {count} more questions that the document answers. They must ask about something else than the "
        "questions above. Reply with nothing but JSON in the format above."
    ),
    parse=LIST_RULES["questions"],
    style="Write more questions that the document answers.",
    cite="exam_pp, 2026",
)


def shows_user_queries(prompt: Prompt) -> bool:
    """Whether the prompt contains queries of users as examples."""
    return EXAMPLES_SLOT in prompt.slots


register((QUERIES, QUERIES_FEW_SHOT, QUERIES_TOP_UP))
