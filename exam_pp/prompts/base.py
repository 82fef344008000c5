"""Prompts as data: name, template, scale and reading rule."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import Formatter
from typing import Any, Literal

from exam_pp.banks import Entry, EntryKind
from exam_pp.data_model import RatingSource
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm_requests import Completion, LabelSearch, Part, Request
from exam_pp.prompts.markup import without_markup, without_thinking
from exam_pp.registry import Registry

Kind = Literal[
    "question",
    "nugget",
    "direct",
    "verification",
    "assignment",
    "claim",
    "support",
    "criteria",
    "pair",
    "generate",
    "query",
    "nuggetize",
    "answer",
]
Unparsed = Literal["default", "ungraded", "published", "chat"]
"""Treatment of replies without a number.

``default``: the papers' defaults. ``ungraded``: no rating. ``published``: the rule of the published code.
``chat``: the reading of sentences of chat models; no rating without a number, except 0 for "unanswerable".
"""

AnswerMatch = Literal["paper", "strict"]
"""The comparison of answers with gold answers: as EXAM++ prints it, or with equal numbers and synonyms."""

STILL_THINKING = "the reply ended before the model finished thinking"

CUT_SLOT = "context"
"""The placeholder of the passage, which is the only text that may be shortened."""

CLAIM_SLOT = "claim"
"""The placeholder of an answer, or of a part of it."""

DOCUMENTS_SLOT = "documents"
"""The placeholder of several documents, best first; shortened from the end in place of a passage."""
NO_DOCUMENTS = "NO DOCUMENTS WERE RETRIEVED"
"""The text in place of the documents of systems that retrieved and cite none."""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The result of reading a reply.

    ``rating`` is None for prompts without a scale and for ungraded replies; for the latter, ``reason`` is
    set. ``source`` is ``number``, or the name of the default that was used.
    """

    rating: int | None
    correct: bool
    source: RatingSource = "number"
    reason: str | None = None


Reader = Callable[[str, Entry | None, Unparsed], ReadReply]
Locator = Callable[[str, Unparsed], "re.Match[str] | None"]
"""Finds the label in a reply: a match whose group ``n`` is the label.

If its group ``open`` took part, later text may state another label that counts.
"""


@dataclass(frozen=True)
class ReadingRule:
    """A reader with a name and a description in one sentence (shown by `exam-pp show prompt`).

    ``locate`` finds the label that the reader reads, in a reply without thinking text and markup. With
    ``whole_reply``, the reply is a text that counts as a whole, such as a reason with a label: it may have
    several lines, and does not end with its label.
    """

    name: str
    description: str
    read: Reader
    locate: Locator | None = None
    whole_reply: bool = False

    def __call__(self, reply: str, entry: Entry | None, unparsed: Unparsed) -> ReadReply:
        """Read a reply without the thinking text before it."""
        text = without_thinking(reply)
        if text is None:
            return ReadReply(None, False, reason=STILL_THINKING)
        return self.read(text, entry, unparsed)


@dataclass(frozen=True)
class _Labels:
    """Finds the label that a reading rule reads, in replies that may have thinking text and markup."""

    labels: tuple[str, ...]
    locate: Locator | None
    unparsed: Unparsed

    def find(self, reply: str) -> tuple[int, int] | None:
        """Begin and end of the label, or None.

        Markup before the label moves it, so it is then searched by its text.
        """
        text = without_thinking(reply)
        if text is None:
            return None
        start = len(reply) - len(text)
        if self.locate is None:
            begin = start + len(text) - len(text.lstrip())
            return (begin, begin + len(text.strip())) if text.strip() in self.labels else None
        match = self.locate(without_markup(text), self.unparsed)
        # A number in words is not where a label could stand.
        if match is None or (self.labels[0].isdecimal() and match["n"] not in self.labels):
            return None
        begin, end = match.span("n")
        label = match["n"]
        if text[begin:end] != label:
            found = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text)
            if found is None:
                return None
            begin, end = found.span()
        return start + begin, start + end

    def is_settled(self, reply: str) -> bool:
        """Whether the label is followed by enough text, so that no further text changes its reading."""
        text = without_thinking(reply)
        if text is None or self.locate is None:
            return False
        plain = without_markup(text)
        match = self.locate(plain, self.unparsed)
        if match is None or _FOLLOWED.match(plain, match.end("n")) is None:
            return False
        # A reply whose first sentence states and explains its label does not change it.
        explains = not _BREAK.search(plain, 0, match.start() + 1) and _REASON.match(plain, match.end("n"))
        return not match.groupdict().get("open") or bool(explains)


_BREAK = re.compile(r"[.!?。\n\d{]")
_REASON = re.compile(r"[^\S\n]*(?:[:,(–—-]|because\b|since\b|as\b)")
_FOLLOWED = re.compile(r"[^\S\n]*\n\W*\w|\S*\s+\S+\s+\S")
"""A line break and text, or the begin of the second word after the label."""


@dataclass(frozen=True)
class Prompt:
    """A prompt class as data.

    Args:
        name: The ``prompt_class`` in files.
        short: The name that users see and type, such as ``self-rated``; empty for that of files.
        kind: What the prompt grades or makes, such as ``question``, ``nugget`` or ``direct``.
        template: The text with placeholders, such as ``{question}`` or ``{nugget}``, and ``{context}``.
        parse: Reads a reply, given the bank entry (or None) and the treatment of replies without a number.
        cite: Source and year of the text.
        max_rating: The highest rating of the scale, which begins at 0; None for prompts without ratings.
        choices: The labels of the scale as text, lowest first, such as ``("No", "Yes")``; empty for numbers
            and free text. With ``max_rating``, each label means a rating.
        answer_key: Whether replies are compared with the gold answers of the bank.
        answer_match: The rule for this comparison; recorded in files.
        version: Increases whenever the text changes.
        style: The ``prompt_style`` in files.
        system: A text in the system role, before the template.
        repair: The text that follows a reply without a readable list, with the placeholders ``{count}`` and
            ``{labels}``. Empty: the text of exam_pp.
        info: Further keys of ``prompt_info`` in files.
        whole_answer: Whether the context is the whole answer of a system, whose grade is stored with its
            first part. Such prompts skip retrieved passages.
        as_file: The text of a file for ``--prompt-file``; empty if it follows from the other fields.
    """

    name: str
    kind: Kind
    template: str
    parse: Reader
    cite: str
    max_rating: int | None = None
    choices: tuple[str, ...] = ()
    answer_key: bool = False
    answer_match: AnswerMatch = "paper"
    version: int = 1
    style: str = ""
    system: str = ""
    repair: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    whole_answer: bool = False
    as_file: str = ""
    short: str = ""

    @property
    def shown(self) -> str:
        """The name for users: the short one, or that of files."""
        return self.short or self.name

    @property
    def is_rated(self) -> bool:
        """Whether replies are ratings on a scale."""
        return self.max_rating is not None

    @property
    def keeps_whole_reply(self) -> bool:
        """Whether replies are texts that count as a whole, and not only as the place of a label."""
        return isinstance(self.parse, ReadingRule) and self.parse.whole_reply

    @property
    def labels(self) -> tuple[str, ...]:
        """The strings of the scale, lowest first; empty for free text."""
        if self.choices or self.max_rating is None:
            return self.choices
        return tuple(str(grade) for grade in range(self.max_rating + 1))

    def verdict(self, reply: Completion, entry: Entry | None, unparsed: Unparsed) -> ReadReply:
        """Read a completion; a failed call has no rating, for the reason of its failure.

        Args:
            reply: The completion of a request.
            entry: The bank entry of the request; None for prompts without entries.
            unparsed: The treatment of replies without a number.

        Returns:
            The verdict.
        """
        if reply.error is not None:
            return ReadReply(None, False, reason=reply.error)
        return self.parse(reply.text, entry, unparsed)

    def label_search(self, unparsed: Unparsed) -> LabelSearch | None:
        """How a backend finds the label in replies.

        Args:
            unparsed: The policy of the reading. With ``chat``, replies end as soon as their label is known,
                unless the whole reply counts.

        Returns:
            The search, or None for prompts without labels.
        """
        if not self.labels:
            return None
        locate = self.parse.locate if isinstance(self.parse, ReadingRule) else None
        labels = _Labels(self.labels, locate, unparsed)
        cuts = unparsed == "chat" and locate is not None and not self.keeps_whole_reply
        name = self.parse.name if isinstance(self.parse, ReadingRule) else self.name
        return LabelSearch(f"{name} {self.scale}", labels.find, labels.is_settled if cuts else None)

    @property
    def scale(self) -> str:
        """The scale as text: ``0 to 5``, ``No or Yes``, ``right or wrong``, or ``text``."""
        if self.max_rating is not None and not self.choices:
            return f"0 to {self.max_rating}"
        return " or ".join(self.choices) or ("right or wrong" if self.answer_key else "text")

    @property
    def entry_kind(self) -> EntryKind | None:
        """The kind of bank entry that passages are graded against; None for prompts without entries."""
        if self.kind == "assignment":
            return "nugget"
        return self.kind if self.kind in ("question", "nugget") else None

    @property
    def needs_query(self) -> bool:
        """Whether the prompt needs the text of the query."""
        return self.kind in ("direct", "assignment")

    @property
    def reading(self) -> str:
        """A description of how replies are read, such as ``yes is 1 and no is 0``."""
        if isinstance(self.parse, ReadingRule):
            return self.parse.description
        return (self.parse.__doc__ or "by a custom function").strip().splitlines()[0]

    @cached_property
    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the system text, the template and the repair text."""
        return hashlib.sha256((self.system + self.template + self.repair).encode()).hexdigest()[:16]

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The placeholders, in order of appearance."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.template) if name)

    @property
    def text(self) -> str:
        """The full prompt with placeholders in braces."""
        return Request(self.render({slot: f"{{{slot}}}" for slot in self.slots})).text

    def render(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        """Fill the placeholders with ``values`` and return the prompt as parts.

        Args:
            values: Text for every placeholder of the template.

        Returns:
            The parts of the prompt: literal texts and values, in order.

        Raises:
            KeyError: A placeholder has no value.
        """
        parts = [Part(self.system, role="system")] if self.system else []
        for literal, slot, _, _ in Formatter().parse(self.template):
            if literal:
                parts.append(Part(literal))
            if slot:
                parts.append(Part(values[slot], slot=slot, may_be_cut=slot in (CUT_SLOT, DOCUMENTS_SLOT)))
        return tuple(parts)

    def repaired_by(self, prompt: Prompt) -> Prompt:
        """The prompt that follows a reply that cannot be read.

        Args:
            prompt: The prompt of exam_pp for this purpose.

        Returns:
            The prompt, with the text of ``repair`` if it is not empty.
        """
        return replace(prompt, template=self.repair) if self.repair else prompt

    def provenance(self) -> dict[str, Any]:
        """The ``prompt_info`` of files: keys of published files, ``prompt_version`` and ``prompt_hash``."""
        return {
            "prompt_class": self.name,
            "prompt_style": self.style,
            "context_first": False,
            "check_unanswerable": self.kind in ("question", "nugget"),
            "check_answer_key": self.answer_key,
            "is_self_rated": self.is_rated,
            **self.info,
            "prompt_version": self.version,
            "prompt_hash": self.hash,
        }


PROMPTS: Registry[Prompt] = Registry(
    "prompt",
    "prompts",
    modules={
        "prompts.answers": (
            "AnswerWikipedia=answer-wikipedia AnswerWikipediaCited=answer-wikipedia-cited "
            "AnswerWebPage=answer-web AnswerWebPageCited=answer-web-cited AnswerDirect=answer-direct "
            "AnswerDirectCited=answer-direct-cited"
        ),
        "prompts.direct": (
            "Thomas=thomas FagB=fagb FagB_few=fagb-few HELM=helm Sun=sun Sun_few=sun-few "
            "AnswerAttempt=answer-attempt GradedRelevance=relevance"
        ),
        "prompts.generation": (
            "QuestionGenerationDL=question-generation-dl QuestionGenerationCAR=question-generation-car "
            "NuggetGenerationDL=nugget-generation-dl NuggetGenerationCAR=nugget-generation-car "
            "QuestionGenerationRepair=question-generation-repair "
            "NuggetGenerationRepair=nugget-generation-repair "
            "QuestionGenerationTopUp=question-generation-top-up "
            "NuggetGenerationTopUp=nugget-generation-top-up QueryGeneration=query-generation "
            "QueryGenerationFewShot=query-generation-few-shot "
            "QueryGenerationTopUp=query-generation-top-up"
        ),
        "prompts.nuggets": (
            "NuggetCreation=nugget-creation NuggetImportance=nugget-importance "
            "NuggetLabelsRepair=nugget-labels-repair NuggetAssignment=nugget-assignment "
            "NuggetAssignment2=nugget-assignment-2 "
            "NuggetAssignmentPointwise=nugget-assignment-pointwise"
        ),
        "prompts.reasoner": ("RAGEloReasoner=ragelo-reasoner"),
        "prompts.requirements": (
            "Criterion=criterion Criterion2=criterion-2 CriterionList=criterion-list "
            "ExpectedAnswers=expected-answers ReferenceAnswer=reference"
        ),
        "prompts.rubric": (
            "QuestionSelfRatedUnanswerablePromptWithChoices=self-rated "
            "QuestionSelfRatedPrompt=self-rated-chat "
            "QuestionCompleteConciseUnanswerablePromptWithChoices=answer "
            "QuestionCompleteConcisePrompt=answer-always "
            "QuestionCompleteConcisePromptWithAnswerKey=answer-key "
            "QuestionCompleteConcisePromptWithAnswerKey2=answer-key-2 QuestionExtractiveQA=extract "
            "QuestionExtractiveQAWithAnswerKey=extract-key NuggetSelfRatedPrompt=nugget-self-rated "
            "NuggetExtractionPrompt=nugget-extract "
            "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2=answer-verification"
        ),
    },
)
"""All prompts by name, including those of installed packages."""


def with_aliases(criteria: GradeFilter) -> GradeFilter:
    """Return the filter, which also accepts all other names of its prompt class; warn of an old name."""
    PROMPTS.warn_of_old_name(criteria.prompt_class)
    prompt = PROMPTS.find(criteria.prompt_class)
    if prompt is None:
        return criteria
    return replace(criteria, prompt_class=prompt.name, also_called=PROMPTS.aliases(prompt.name))


def register(
    prompts: Iterable[Prompt],
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    old_names: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Add prompts to the registry under their names.

    ``aliases`` are other names of some of them; ``old_names`` are aliases that users are warned of.
    """
    for prompt in prompts:
        PROMPTS.add(
            prompt.name,
            prompt,
            short=prompt.short,
            aliases=(aliases or {}).get(prompt.name, ()),
            old_names=(old_names or {}).get(prompt.name, ()),
        )
