"""Removal of grades, texts, prompts, replies, judgments or rankings from passages files, for sharing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from exam_pp.data_model import OfOneModel, is_human
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.passages.rename import AnswerGrades, answer_grades
from exam_pp.phases.passages.transform import Rewritten, Step
from exam_pp.raw_json import RawJson, decode_list, decode_object, encode_list, encode_object
from exam_pp.store.passages.raw_passages import RawGrades, RawPassage, RawQuery


@dataclass(frozen=True)
class StripOptions:
    """The parts to remove.

    ``grades`` removes sets of grades that match the filter, ``human`` those by reviewers. ``texts`` removes
    the texts of passages, their markup (``paragraph``) and ``prompts``, which failed requests record and
    which contain the texts. ``replies`` removes all text by models, which may quote passages. Ratings and
    failure reasons are kept.
    """

    grades: GradeFilter | None = None
    human: bool = False
    texts: bool = False
    prompts: bool = False
    replies: bool = False
    judgments: bool = False
    rankings: bool = False


def strip_step(source: Path, options: StripOptions, dropped: Counter[str]) -> Step[RawQuery, Rewritten]:
    """Remove some parts of a passages file, and count the removed parts of each type in ``dropped``.

    Required keys are kept with empty values, so the output is a valid passages file. The check raises
    :class:`SelectionError` if no grades match the grade filter.
    """
    stripper = _Stripper(options, dropped)
    grades = GradeSelector(options.grades or GradeFilter())
    filters_grades = grades.filter != GradeFilter()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if filters_grades:
                grades.select(passage)
            stripper.passage(passage)
        return query

    def check(_counts: Rewritten) -> None:
        if filters_grades and not stripper.dropped["sets of grades"]:  # grades of answers have no entries
            grades.check_any(str(source))

    return Step(change, check)


@dataclass(frozen=True)
class _Stripper:
    options: StripOptions
    dropped: Counter[str]

    def passage(self, passage: RawPassage) -> None:
        options = self.options
        if options.texts:
            self._text(passage)
        if options.judgments:
            self._empty(passage, "judgments", len(passage.judgments))
        if options.rankings:
            self._empty(passage, "rankings", len(passage.rankings))
        if options != StripOptions(judgments=options.judgments, rankings=options.rankings):
            passage.edit_grades(self.grades)
            for key, graded in answer_grades(passage):
                passage.change((key,), partial(self._answer_grades, graded))

    def _text(self, passage: RawPassage) -> None:
        if passage.text:
            self.dropped["texts"] += 1
            passage.set_text("")
        passage.change(("paragraph",), lambda _old: None)

    def _empty(self, passage: RawPassage, key: str, count: int) -> None:
        if count:
            self.dropped[key] += count
            passage.change(("paragraph_data", key), lambda _old: b"[]")

    def grades(self, grades: RawGrades) -> RawGrades | None:
        options = self.options
        if options.human and is_human(grades.view.model):
            self.dropped["sets of human grades"] += 1
            return None
        if options.grades is not None and options.grades.accepts(grades.view):
            self.dropped["sets of grades"] += 1
            return None
        if options.replies:
            grades = self._without_replies(grades)
        if parts := self._parts:
            path = ("llm_response_error" if grades.is_direct else "llm_response_errors",)
            grades = grades.with_value(path, partial(self._errors, parts, grades.is_direct))
        return grades

    @property
    def _parts(self) -> dict[str, str]:
        """The keys of errors to remove, and what they hold."""
        prompts = {"prompt": "prompts"} if self.options.prompts or self.options.texts else {}
        return prompts | ({"response": "replies"} if self.options.replies else {})

    def _answer_grades(self, graded: Sequence[AnswerGrades], old: RawJson | None) -> RawJson:
        """Return the grades of answers without those to remove, and without prompts and replies."""
        kept = []
        for grade, raw in zip(graded, decode_list(old), strict=True):
            if self.options.human and is_human(grade.model):
                self.dropped["sets of human grades"] += 1
            elif self.options.grades is not None and selects(self.options.grades, grade):
                self.dropped["sets of grades"] += 1
            else:
                kept.append(self._answer_grade(raw))
        return encode_list(kept)

    def _answer_grade(self, raw: RawJson) -> RawJson:
        """A grade of an answer, or one of its labels or ratings, without prompts and replies."""
        fields = decode_object(raw)
        lists = [key for key in ("supports", "ratings") if key in fields]
        if not self._parts or not (lists or fields.keys() & {"answer", "llm_response_error"}):
            return raw
        for key in lists:
            fields[key] = encode_list(map(self._answer_grade, decode_list(fields[key])))
        if self.options.replies and bytes(fields.get("answer", b"null")) not in {b"null", b'""'}:
            self.dropped["replies"] += 1
            del fields["answer"]
        if "llm_response_error" in fields:
            fields["llm_response_error"] = self._error(self._parts, fields["llm_response_error"])
        return encode_object(fields)

    def _without_replies(self, grades: RawGrades) -> RawGrades:
        fields = decode_object(grades.raw)
        for key in ("answers", "verifications"):
            replies = decode_list(fields.get(key))
            if replies:
                self.dropped["replies"] += len(replies)
                grades = grades.with_value((key,), lambda _old: b"[]")
        if "answer" in fields:
            self.dropped["replies"] += 1
            grades = grades.with_value(("answer",), lambda _old: None)
        return grades

    def _errors(self, parts: Mapping[str, str], direct: bool, old: RawJson | None) -> RawJson | None:
        """Return errors (by entry id, or of a direct grade) without the keys of ``parts``."""
        if old is None:
            return None
        if _starts_with(b"[", old):  # Old files have lists of unknown content.
            self.dropped["errors"] += len(decode_list(old))
            return b"[]" if decode_list(old) else old
        if direct or not _starts_with(b"{", old):
            return self._error(parts, old)
        before = decode_object(old)
        after = {entry: self._error(parts, error) for entry, error in before.items()}
        return old if after == before else encode_object(after)

    def _error(self, parts: Mapping[str, str], old: RawJson) -> RawJson:
        if not _starts_with(b"{", old):
            return old
        fields = decode_object(old)
        present = [key for key in parts if bytes(fields.get(key, b"null")) not in {b"null", b'""'}]
        for key in present:
            self.dropped[parts[key]] += 1
            del fields[key]
        return encode_object(fields) if present else old


def selects(criteria: GradeFilter, grade: OfOneModel) -> bool:
    """Whether a filter that is not for entries or direct grades matches a grade of an answer, or games."""
    return (
        criteria.kind is None
        and criteria.question_set is None
        and criteria.model in (None, grade.model)
        and criteria.prompt_class in (None, grade.prompt_class)
        and criteria.prompt_hash in (None, grade.prompt_hash)
    )


def _starts_with(prefix: bytes, value: RawJson) -> bool:
    return bytes(value).startswith(prefix)
