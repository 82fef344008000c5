"""Prompts that compare the answers of two systems, and the rules that read the winner."""

from __future__ import annotations

import re
from typing import Literal

from exam_pp.banks import Entry
from exam_pp.prompts.base import DOCUMENTS_SLOT, Locator, Prompt, ReadingRule, ReadReply, Unparsed, register

ANSWER_SLOTS = ("answer_a", "answer_b")
"""The placeholders of the answers in place A and in place B."""
PAIR_SLOTS = ("query", *ANSWER_SLOTS)
"""The placeholders that every prompt of the kind ``pair`` has."""

Evidence = Literal["text", "reason", "both", "none"]
"""Contents of the documents in a prompt: texts, reasons for their relevance, both, or no documents at all."""

FACTORS = (
    "comprehensiveness, correctness, helpfulness, completeness, accuracy, depth, and level of detail of "
    "their responses. Answers are comprehensive if they show the user multiple perspectives in addition to "
    "but still relevant to the intent of the original question."
)
"""The factors of the paper (appendix A.2)."""

_VERDICT = re.compile(r"\[\[\s*(?P<n>[^\W\d_])\s*\]\]")
_FINAL = re.compile(
    r"\bfinal[\s_-]{0,3}verdict\W{0,8}(?:is\W{0,4})?(?:(?:assistant|answer)\W{0,4})?"
    r"(?-i:(?P<n>[A-Z])(?!\w|\s+(?!is\b|because\b)[a-z]))",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"\W*(?:(?:the|better|best|answer|assistant|response|verdict|label|option|is)\b\W*){0,6}"
    r"(?-i:(?P<n>[ABC]))(?!\w)(?:\s*\Z|\s*[.,:;!)\]\"'*\n-]|\s+is\s+(?:the\s+)?(?:better|best)\b)",
    re.IGNORECASE,
)


def _find_verdict(reply: str, unparsed: Unparsed) -> re.Match[str] | None:
    """The last ``[[X]]``; with the policy ``chat``, in its absence the last "final verdict: X"."""
    matches = list(_VERDICT.finditer(reply))
    if not matches and unparsed == "chat":
        matches = list(_FINAL.finditer(reply))
    return matches[-1] if matches else None


def _find_letter(reply: str, _unparsed: Unparsed) -> re.Match[str] | None:
    return _LETTER.match(reply)


def _rule(name: str, description: str, locate: Locator, reason: str) -> ReadingRule:
    """The rating is the position of the letter in A, B, C; ungraded without a letter, or with another one."""

    def read(reply: str, _entry: Entry | None, unparsed: Unparsed) -> ReadReply:
        match = locate(reply, unparsed)
        rating = "ABC".find(match["n"].upper()) if match else -1
        return ReadReply(None, False, reason=reason) if rating < 0 else ReadReply(rating, True)

    return ReadingRule(name, description, read, locate)


VERDICT = _rule(
    "verdict",
    "the last of [[A]], [[B]] and [[C]] wins; a reply without one, or with another letter in the last one, "
    "stays ungraded",
    _find_verdict,
    "the reply has no verdict [[A]], [[B]] or [[C]]",
)
LETTER = _rule(
    "letter",
    "A, B or C at the beginning of the reply, such as 'B' or 'Answer B is better.'; any other reply stays "
    "ungraded",
    _find_letter,
    "the reply does not begin with one of the labels A, B and C",
)
PAIR_RULES: dict[str, tuple[ReadingRule, tuple[str, ...]]] = {
    VERDICT.name: (VERDICT, ("[[A]]", "[[B]]", "[[C]]")),
    LETTER.name: (LETTER, ("A", "B", "C")),
}
"""Name of a reading rule to the rule and its labels: place A is better, place B is better, a tie."""

PAIR_IN_FILES = ("pair", PAIR_RULES, PAIR_SLOTS, (DOCUMENTS_SLOT, "factors"))
"""Prompts of the kind ``pair`` in prompt files: their reading rules, required and optional placeholders."""

_GIVEN = "For each reference document, you will be provided with "
_SENTENCES: dict[Evidence, str] = {
    "both": f"{_GIVEN}the text of the document as well as reasons why the document is or is not relevant.\n",
    "text": f"{_GIVEN}the text of the document.\n",
    "reason": f"{_GIVEN}reasons why the document is or is not relevant.\n",
    "none": "",
}
_CITATIONS = "The answers cite the reference documents by their ids in square brackets.\n"


def pairwise_answers(evidence: Evidence = "both", citations: bool = False) -> Prompt:
    """The prompt of the paper with its options, each of which changes a sentence.

    ``evidence``: Contents of the documents: ``include_raw_documents`` and ``include_annotations`` of the
    paper. The paper needs one of them; without documents, the prompt does not mention any. Returns the
    prompt, with the options in ``info``. Its text is that of the paper for ``both`` without citations; the
    sentences of other options are not in the paper.
    """
    shown = evidence != "none"
    reference = " based on a set of reference documents that may or may not be relevant" if shown else ""
    documents = f"\n[Reference Documents]\n{{{DOCUMENTS_SLOT}}}" if shown else ""
    template = f"""Please act as an impartial judge and evaluate the quality of the responses provided \
by two AI assistants tasked to answer the question below based on a set of documents retrieved by a search \
engine.
You should choose the assistant that best answers the user question{reference}.
{_CITATIONS if citations else ""}{_SENTENCES[evidence]}\
Your evaluation should consider factors such as {{factors}}
Details are only useful if they answer the user's question. If an answer contains non-relevant details, it \
should not be preferred over one that only uses relevant information.
Begin your evaluation by explaining why each answer correctly answers the user's question. Then, you should \
compare the two responses and provide a short explanation of their differences. Avoid any position \
biases and ensure that the order in which the responses were presented does not influence your decision. Do \
not allow the length of the responses to influence your evaluation. Be as objective as possible.
After providing your explanation, output your final verdict by strictly following this format: "[[A]]" if \
assistant A is better, "[[B]]" if assistant B is better, and "[[C]]" for a tie.

[User Question]
{{query}}{documents}
[The Start of Assistant A's Answer]
{{answer_a}}
[The End of Assistant A's Answer]
[The Start of Assistant B's Answer]
{{answer_b}}
[The End of Assistant B's Answer]"""
    rule, labels = PAIR_RULES["verdict"]
    return Prompt(
        name="PairwiseAnswers",
        short="pairwise",
        kind="pair",
        template=template,
        parse=rule,
        choices=labels,
        style="Please act as an impartial judge and evaluate the quality of the responses provided by two AI "
        "assistants.",
        cite="Rackauckas et al.: Evaluating RAG-Fusion with RAGElo: an Automated Elo-based Framework, 2024, "
        "appendix A.2",
        info={"has_citations": citations},
    )


PAIRWISE_ANSWERS = pairwise_answers()

PAIRWISE_CHOICE = Prompt(
    name="PairwiseChoice",
    short="pairwise-choice",
    kind="pair",
    template="""Instruction: Two answers to a question are given. Choose the answer that is more correct, \
more complete and more helpful. Use the documents to check facts. Neither the order nor the length of the \
answers matters. Respond with one letter and nothing else:
A: answer A is better
B: answer B is better
C: both are equally good
Question: {query}
Documents:
{documents}
Answer A: {answer_a}
Answer B: {answer_b}
The letter of the better answer:""",
    parse=LETTER,
    choices=PAIR_RULES["letter"][1],
    style="Two answers to a question are given. Choose the answer that is more correct.",
    cite="exam_pp, 2026; after Rackauckas et al.: Evaluating RAG-Fusion with RAGElo, 2024",
)

PAIRWISE_PROMPTS = (PAIRWISE_ANSWERS, PAIRWISE_CHOICE)
register(PAIRWISE_PROMPTS)
