"""A passages file without what is not to be shared: grades, texts, prompts, replies, judgments, rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from exam_pp.data_model import is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.passages.raw_json import RawJson, fields_of, list_of, record_of
from exam_pp.store.passages.raw_passages import RawGrades, RawPassage, RawQuery


@dataclass(frozen=True)
class Unwanted:
    """What is dropped. ``grades`` drops the sets of grades that pass, ``human`` those of people.

    ``texts`` are those of passages, with their markup (``paragraph``) and with ``prompts``, which failed
    calls record and which contain them; ``replies`` are all words of models (they may quote texts). Ratings
    and the reasons for failures stay.
    """

    grades: GradeFilter | None = None
    human: bool = False
    texts: bool = False
    prompts: bool = False
    replies: bool = False
    judgments: bool = False
    rankings: bool = False


def strip_file(source: Path, output: Path, unwanted: Unwanted) -> Counter[str]:
    """Write a passages file without what is unwanted; returns what was dropped, with counts.

    Required keys stay, empty: the output is a passages file as before. Raises :class:`SelectionError`
    where nothing is to be dropped, and where no grades pass the filter that names them.
    """
    if unwanted == Unwanted():
        raise SelectionError("Say what to drop: --grades, --human, --texts, --prompts, --replies ...")
    stripper = _Stripper(unwanted, Counter())
    grades = GradeSelector(unwanted.grades or GradeFilter())
    some_grades = grades.filter != GradeFilter()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if some_grades:
                grades.select(passage)
            stripper.passage(passage)
        return query

    def check(_counts: Rewritten) -> None:
        if some_grades:
            grades.check_any(str(source))

    rewrite(source, output, change, check=check)
    return stripper.dropped


@dataclass(frozen=True)
class _Stripper:
    unwanted: Unwanted
    dropped: Counter[str]

    def passage(self, passage: RawPassage) -> None:
        unwanted = self.unwanted
        if unwanted.texts:
            self._text(passage)
        if unwanted.judgments:
            self._empty(passage, "judgments", len(passage.judgments))
        if unwanted.rankings:
            self._empty(passage, "rankings", len(passage.rankings))
        if unwanted != Unwanted(judgments=unwanted.judgments, rankings=unwanted.rankings):
            passage.edit_grades(self.grades)

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
        unwanted = self.unwanted
        if unwanted.human and is_human(grades.view.model):
            self.dropped["sets of grades by people"] += 1
            return None
        if unwanted.grades is not None and unwanted.grades.accepts(grades.view):
            self.dropped["sets of grades"] += 1
            return None
        parts = {"prompt": "prompts"} if unwanted.prompts or unwanted.texts else {}
        if unwanted.replies:
            parts["response"] = "replies"
            grades = self._without_replies(grades)
        if parts:
            path = ("llm_response_error" if grades.is_direct else "llm_response_errors",)
            grades = grades.with_value(path, partial(self._errors, parts, grades.is_direct))
        return grades

    def _without_replies(self, grades: RawGrades) -> RawGrades:
        fields = fields_of(grades.raw)
        for key in ("answers", "verifications"):
            replies = list_of(fields.get(key))
            if replies:
                self.dropped["replies"] += len(replies)
                grades = grades.with_value((key,), lambda _old: b"[]")
        if "answer" in fields:
            self.dropped["replies"] += 1
            grades = grades.with_value(("answer",), lambda _old: None)
        return grades

    def _errors(self, parts: Mapping[str, str], direct: bool, old: RawJson | None) -> RawJson | None:
        """Errors (of entries by id, or of one direct grade) without the parts, which are named in plural."""
        if old is None:
            return None
        if _starts_with(b"[", old):  # of old files; nobody knows what is in there
            self.dropped["errors"] += len(list_of(old))
            return b"[]" if list_of(old) else old
        if direct or not _starts_with(b"{", old):
            return self._error(parts, old)
        before = fields_of(old)
        after = {entry: self._error(parts, error) for entry, error in before.items()}
        return old if after == before else record_of(after)

    def _error(self, parts: Mapping[str, str], old: RawJson) -> RawJson:
        if not _starts_with(b"{", old):
            return old
        fields = fields_of(old)
        found = [key for key in parts if bytes(fields.get(key, b"null")) not in {b"null", b'""'}]
        for key in found:
            self.dropped[parts[key]] += 1
            del fields[key]
        return record_of(fields) if found else old


def _starts_with(mark: bytes, value: RawJson) -> bool:
    return bytes(value).startswith(mark)
