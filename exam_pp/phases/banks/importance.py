"""Importance of the entries of an existing bank, vital or okay, from a model.

Source: Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, section 3.1 and
Figure 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from exam_pp.banks import BankLine, Entry
from exam_pp.errors import SelectionError
from exam_pp.graders.listwise import REPAIRS
from exam_pp.graders.nuggetize import Importance, importance_order, label_importance
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.generate import ModelSummary, answering
from exam_pp.phases.banks.nuggetize import ImportanceModel, importance_info
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, check_lists
from exam_pp.phases.grading.scheduler import run_requests
from exam_pp.prompts import Prompt
from exam_pp.prompts.nuggets import NUGGET_IMPORTANCE
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, noted


@dataclass(frozen=True)
class ImportanceOptions:
    """Options of the importance of existing entries.

    With ``relabel``, entries that have an importance are labelled, too. ``keep`` sorts the entries of each
    query or facet, vital entries first, and keeps this number of them; None keeps all in their order.
    """

    relabel: bool = False
    keep: int | None = None
    repairs: int = REPAIRS
    prompt: Prompt = NUGGET_IMPORTANCE


@dataclass
class ImportanceSummary(ModelSummary):
    """Counts for the summary.

    ``labels`` counts the new labels, ``before`` the entries that keep their importance, ``cut`` the entries
    beyond ``keep``. ``unlabelled`` counts the entries without a readable label by the reason.
    """

    labels: Counter[str] = field(default_factory=Counter)
    before: int = 0
    cut: int = 0
    unlabelled: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        entries = counted(self.labels.total(), "entry", "entries")
        yield (
            f"{entries} labelled: {self.labels['vital']} vital, {self.labels['okay']} okay "
            f"({counted(self.asked, 'model call')})."
        )
        already = "{} an importance already; --regrade asks for it again."
        yield from noted(self.before, already, "entry has", "entries have")
        for reason, count in self.unlabelled.most_common():
            yield f"{counted(count, 'entry is', 'entries are')} without a new label: {reason}."
        yield from noted(self.cut, "Dropped: {} beyond --keep.", "entry")
        yield from self.written()


def add_importance(
    lines: Sequence[BankLine],
    importance: ImportanceModel,
    *,
    options: ImportanceOptions | None = None,
    query_texts: Mapping[str, str] | None = None,
    summary: ImportanceSummary | None = None,
) -> list[BankLine]:
    """The bank lines with the importance that the model gives their nuggets or questions.

    The entries of a line, that is of a query or facet, are shown together, in lists of ten. ``query_texts``
    maps query ids to texts for lines without one. An entry without a readable label is unchanged. Raises
    :class:`SelectionError` for a query without a text.
    """
    options = options or ImportanceOptions()
    counts = summary if summary is not None else ImportanceSummary()
    texts = [line.query_text or (query_texts or {}).get(line.query_id, "") for line in lines]
    asked = [_to_label(line, options) for line in lines]
    for line, text, positions in zip(lines, texts, asked, strict=True):
        if positions and not text:
            raise SelectionError(
                f"The query {line.query_id!r} has no text in the bank; name a file of query texts with "
                "--queries."
            )
    work = [
        label_importance(
            text,
            [line.items[position].text for position in positions],
            options.prompt,
            options.repairs,
            count_pairs=True,
        )
        for line, text, positions in zip(lines, texts, asked, strict=True)
    ]
    results = run_requests(work, importance.answer)
    info = importance_info(importance, options.prompt)
    return [
        _labelled(line, dict(zip(positions, labels, strict=True)), info, options, counts)
        for line, positions, labels in zip(lines, asked, results, strict=True)
    ]


def _to_label(line: BankLine, options: ImportanceOptions) -> list[int]:
    """The positions of the entries whose importance is asked for."""
    return [
        position for position, item in enumerate(line.items) if options.relabel or item.importance is None
    ]


def _labelled(
    line: BankLine,
    labels: Mapping[int, Importance],
    info: Mapping[str, Any],
    options: ImportanceOptions,
    counts: ImportanceSummary,
) -> BankLine:
    items: list[Entry] = list(line.items)
    counts.before += len(items) - len(labels)
    unlabelled: dict[str, str] = {}
    earlier = {position for position, item in enumerate(items) if item.importance is not None}
    for position, importance in labels.items():
        item = items[position]
        if importance.label is None:
            unlabelled[item.text] = importance.reason
            counts.unlabelled[importance.reason.partition(":")[0]] += 1
        else:
            items[position] = item.model_copy(update={"importance": importance.label})
            counts.labels[importance.label] += 1
            earlier.discard(position)
    cut: list[str] = []
    if options.keep is not None:
        items.sort(key=lambda item: importance_order(item.importance))
        cut = [item.text for item in items[options.keep :]]
        counts.cut += len(cut)
        items = items[: options.keep]
    record: dict[str, Any] = dict(info) if labels else {}
    record |= {"unlabelled": unlabelled} if unlabelled else {}
    record |= {"cut": cut} if cut else {}
    if not record:
        return line.model_copy(update={"items": items})
    old = line.info if isinstance(line.info, dict) else {} if line.info is None else {"info": line.info}
    if labels:
        old = _before(old, info, keeps_labels=bool(earlier))
    return line.model_copy(update={"items": items, "info": old | record})


def _before(old: Mapping[str, Any], info: Mapping[str, Any], *, keeps_labels: bool) -> dict[str, Any]:
    """The info of a line without what new labels replace: missing labels, and the record of the earlier ones.

    If entries keep earlier labels, the model and the prompt of these labels move to ``importance_before``.
    """
    replaced = (*info, "importance_before")
    rest = {key: value for key, value in old.items() if key not in (*replaced, "unlabelled")}
    before = {key: old[key] for key in replaced if key in old}
    return rest | ({"importance_before": before} if keeps_labels and before else {})


def importance_file(
    files: GradeFiles,
    model: ModelOptions,
    options: ImportanceOptions,
    *,
    advance: Advance = lambda _steps, _total: None,
) -> ImportanceSummary:
    """Write a bank with the importance of its entries.

    The input is the ``bank`` of ``files``; its ``queries`` are texts that the bank lacks. An interrupted run
    continues from its journal. Raises :class:`exam_pp.errors.ExamError`, for example if no entry lacks an
    importance.
    """
    assert files.bank is not None
    check_output(files.output, files.inputs)
    check_lists(model, [options.prompt])
    lines = read_bank(files.bank).lines
    entries = sum(len(_to_label(line, options)) for line in lines)
    if not entries and options.keep is None:
        raise SelectionError(
            f"All entries of {files.bank} have an importance; --regrade asks for it again, and --keep sorts "
            "and cuts the bank."
        )
    query_texts = {} if files.queries is None else read_query_texts(files.queries)
    advance(0, entries)
    summary = ImportanceSummary(output=str(files.output))
    with answering(files, model, advance, summary) as (llm, answer):
        labelled = add_importance(
            lines,
            ImportanceModel(answer, llm.name, llm.provenance()),
            options=options,
            query_texts=query_texts,
            summary=summary,
        )
        write_bank(labelled, files.output, inputs=files.inputs)
    return summary
