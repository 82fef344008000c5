"""Conversion: test banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.interchange.bank_formats import bank_of_csv, is_stale, note_unused
from exam_pp.phases.interchange.dropped_fields import CHANGED_TEXTS, bank_losses, uncounted, used
from exam_pp.phases.interchange.formats.base import Source, Target, add_format, reading
from exam_pp.phases.interchange.losses import Losses
from exam_pp.store.banks.bank_csv import write_bank_csv
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import is_stream
from exam_pp.store.interchange.autojudge import KEPT as AUTOJUDGE
from exam_pp.store.interchange.autojudge import read_autojudge, write_autojudge
from exam_pp.store.interchange.genq import genq_text, genq_words, read_genq, write_genq
from exam_pp.store.interchange.nuggetizer import KEPT as NUGGETIZER
from exam_pp.store.interchange.nuggetizer import read_nuggetizer, write_nuggetizer
from exam_pp.store.interchange.squad import read_squad, squad_title, write_squad
from exam_pp.store.interchange.tqa import PREFIX, read_tqa, write_tqa
from exam_pp.test_bank import BankLine, Entry, EntryKind, Nugget, Question, entry_id


def _kept(
    lines: Iterable[BankLine], fits: Callable[[Entry], bool], lost: str, losses: Losses
) -> list[BankLine]:
    """The lines with the entries that fit; the others are lost under the name ``lost``."""
    kept = []
    for line in lines:
        items = [item for item in line.items if fits(item)]
        losses.add(lost, len(line.items) - len(items))
        kept.append(line if len(items) == len(line.items) else line.model_copy(update={"items": items}))
    return kept


def _with_texts(lines: Iterable[BankLine], losses: Losses) -> list[BankLine]:
    """The lines with the entries that have words, as formats need them."""
    return _kept(lines, lambda item: bool(item.text.strip()), "entries without text", losses)


def _of_kind(lines: Iterable[BankLine], kind: EntryKind, losses: Losses) -> list[BankLine]:
    """The lines with the entries of one kind; raises :class:`SelectionError` where there are none."""
    others = "nuggets" if kind == "question" else "questions"
    kept = _kept(lines, lambda item: item.kind == kind, others, losses)
    if not any(line.items for line in kept):
        raise SelectionError(f"The format is for {kind}s, and the bank holds none.")
    return kept


def _check_entries(lines: Iterable[BankLine]) -> None:
    if not any(line.items for line in lines):
        raise SelectionError("The bank holds no questions and no nuggets, and its file could not be read.")


def _write_jsonl_bank(lines: Iterable[BankLine], target: Target) -> None:
    lines = list(lines)
    _check_entries(lines)
    write_bank(lines, target.path, inputs=target.inputs)


def _read_csv(source: Source) -> list[BankLine]:
    if is_stream(source.path):
        uncounted(source.losses)
    else:
        note_unused(source.path, source.losses)
    lines = bank_of_csv(source.path)
    if not lines:
        raise DataError("holds no questions and no nuggets.", file=str(source.path))
    return lines


def _write_csv(lines: Iterable[BankLine], target: Target) -> None:
    lines = _with_texts(lines, target.losses)
    _check_entries(lines)
    keeps = {"query texts", "facets", "facet texts", "test collections"}
    keeps |= {"importance labels", "weights", "gold answers"}
    bank_losses(lines, keeps, target.losses)
    items = [item for line in lines for item in line.items]
    changed = sum(not item.entry_id or is_stale(item.entry_id, item.text) for item in items)
    target.losses.add("entry ids", changed)
    write_bank_csv(lines, target.path, inputs=target.inputs)


def _write_genq(lines: Iterable[BankLine], target: Target) -> None:
    lines = _with_texts(_of_kind(lines, "question", target.losses), target.losses)
    keeps = {"query texts", "facets", "facet texts", "queries without entries"}
    bank_losses(lines, keeps, target.losses)
    positions: Counter[tuple[str, str | None]] = Counter()
    for line in lines:
        for item in line.items:
            positions[line.query_id, line.facet_id] += 1
            text = genq_text(item, positions[line.query_id, line.facet_id])
            if entry_id(line.query_id, text, line.facet_id) != item.entry_id:
                target.losses.add("entry ids")
            target.losses.add(CHANGED_TEXTS, genq_words(text) != item.text)
    write_genq(lines, target.path, inputs=target.inputs)


def _write_tqa(lines: Iterable[BankLine], target: Target) -> None:
    lines = _of_kind(lines, "question", target.losses)
    bank_losses(lines, {"query texts", "gold answers"}, target.losses, collection="tqa", text=str.strip)
    for line in lines:
        target.losses.add("query ids that are no lesson", not line.query_id.startswith(PREFIX))
        for item in line.items:
            target.losses.add("gold answers beyond the first", len((item.gold_answers or ())[1:]))
            target.losses.add("marks of unanswerable questions", item.gold_answers == [])
    write_tqa(lines, target.path, inputs=target.inputs)


def _write_squad(lines: Iterable[BankLine], target: Target) -> None:
    lines = _of_kind(lines, "question", target.losses)
    keeps = {"gold answers", "query texts", "queries without entries"}
    bank_losses(lines, keeps, target.losses, collection="squad2", text=str.strip)
    numbers: Counter[str] = Counter()
    for line in lines:
        title = squad_title(line.query_id)
        numbers[title] += 1
        again = f"{'_'.join(title.split())}:{numbers[title]}"
        target.losses.add("query ids", again != line.query_id)
        shown = " ".join(title.replace("_", " ").split())
        target.losses.add("query texts", shown != line.query_text)
        target.losses.add("paragraphs, which a bank does not have", line.query_id not in target.contexts)
    paragraphs = {query_id: next(iter(texts.values())) for query_id, texts in target.contexts.items()}
    write_squad(lines, target.path, contexts=paragraphs, inputs=target.inputs)


def _write_nuggetizer(lines: Iterable[BankLine], target: Target) -> None:
    lines = _with_texts(_of_kind(lines, "nugget", target.losses), target.losses)
    for line in lines:
        target.losses.keys(line.model_extra)
    keeps = {"query texts", "importance labels", "further keys", "queries without entries"}
    kept = [_without_kept_info(line, NUGGETIZER) for line in lines]
    bank_losses(kept, keeps, target.losses, entry_id=lambda item: entry_id(item.query_id, item.text))
    write_nuggetizer(lines, target.path, inputs=target.inputs)


def _write_autojudge(lines: Iterable[BankLine], target: Target) -> None:
    lines = _with_texts(lines, target.losses)
    keeps = {
        "query texts",
        "test collections",
        "importance labels",
        "gold answers",
        "queries without entries",
    }
    kept = [_without_kept_info(line, AUTOJUDGE) for line in lines]
    bank_losses(kept, keeps, target.losses)
    texts: Counter[tuple[str, str, str]] = Counter()
    for line in lines:
        for item in line.items:
            texts[line.query_id, item.kind, item.text] += 1
            target.losses.add("entry ids", _id_in_autojudge(item) != item.entry_id)
            target.losses.add("marks of unanswerable questions", item.gold_answers == [])
            golds = item.gold_answers or [] if isinstance(item, Question) else []
            told = {gold.strip() for gold in golds if gold}
            target.losses.add("gold answers that are empty or equal", len(golds) - len(told))
            target.losses.add("gold answers of nuggets", isinstance(item, Nugget) and bool(item.gold_answers))
    target.losses.add("entries of equal text", sum(count - 1 for count in texts.values()))
    write_autojudge(lines, target.path, inputs=target.inputs)


def _without_kept_info(line: BankLine, key: str) -> BankLine:
    """The line without what an import kept under a key of info, which is written again."""

    def rest(info: Any) -> Any:
        return {name: info[name] for name in info if name != key} or None if isinstance(info, dict) else info

    items = [item.model_copy(update={"info": rest(item.info)}) for item in line.items]
    return line.model_copy(update={"info": rest(line.info), "items": items})


def _id_in_autojudge(item: Entry) -> str:
    last = item.entry_id.rpartition("/")[2]
    own = isinstance(item, Question) and item.entry_id == f"{item.query_id}/{last}" and len(last) == 32
    return item.entry_id if own else entry_id(item.query_id, item.text)


_QUESTION = {
    "beingAsked": used("processedText"),
    "correctAnswer": used("processedText"),
    "answerChoices": {"*": used("processedText")},
}
_TQA = used("globalID lessonName", questions={"nonDiagramQuestions": {"*": _QUESTION}})
_SQUAD_QA = used("id question is_impossible", answers=used("text"))
_SQUAD = {"data": used("title", paragraphs={"qas": _SQUAD_QA})}

add_format(
    "bank", "bank", "test bank, JSON lines", reading(lambda path: read_bank(path).lines), _write_jsonl_bank
)
add_format("bank-csv", "bank", "test bank as a spreadsheet", _read_csv, _write_csv)
add_format(
    "genq", "bank", "question banks by facet, first shape",
    reading(read_genq, {"*": {"*": used("title facet questions")}}), _write_genq,
)  # fmt: skip
add_format("tqa", "bank", "lessons of Textbook Question Answering", reading(read_tqa, _TQA), _write_tqa)
add_format(
    "squad2", "bank", "questions of SQuAD2-style files",
    reading(lambda path: (paragraph.bank for paragraph in read_squad(path)), _SQUAD), _write_squad,
)  # fmt: skip
add_format(
    "nuggetizer", "bank", "nuggets of AutoNuggetizer",
    reading(read_nuggetizer, used("qid query nuggets")), _write_nuggetizer,
)  # fmt: skip
add_format(
    "autojudge-bank", "bank", "nugget banks of AutoJudge (v3)", reading(read_autojudge), _write_autojudge
)
