"""Generation of test banks: a model writes questions or nuggets for every query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.banks import TARGET, BankLine, Entry, EntryKind, make_entry, normalised_text
from exam_pp.errors import DataError, SelectionError
from exam_pp.graders.generation import TOP_UPS, EntryGenerator, Generated, GenerationUnit
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, open_journal
from exam_pp.phases.grading.scheduler import Answer, Answerer, run_requests
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.generation import (
    LIST_RULES,
    MAX_NUGGET_WORDS,
    PUBLISHED_COUNT,
    TOP_UP_PROMPTS,
    explores_facets,
)
from exam_pp.store.banks.bank_json import write_bank
from exam_pp.store.files import STDIO, check_output
from exam_pp.store.trec.queries import Query, read_queries
from exam_pp.text.wording import counted, noted


@dataclass(frozen=True)
class GenerateOptions:
    """Options of the generation.

    ``count`` is the number of entries that the TREC DL style prompt requests, and the largest number that is
    kept of any reply. None means 10 for a query, as in the workbench paper, and no limit for a facet.
    ``repairs`` is the number of further attempts after a reply without a list, and ``top_ups`` that of
    requests for more entries after a list with fewer than the prompt asks for. With ``facets`` False, facets
    are ignored. ``prompts`` replace the prompts of the paper, for queries or for facets.
    """

    kind: EntryKind
    count: int | None = None
    repairs: int = 1
    facets: bool = True
    test_collection: str = ""
    max_queries: int | None = None
    prompts: Sequence[Prompt] = ()
    top_ups: int = TOP_UPS


@dataclass
class ModelSummary:
    """The number of model calls, and the output, of a command that writes with a model."""

    asked: int = 0
    output: str = ""

    def written(self) -> Iterator[str]:
        """The last line of the summary; none for standard output."""
        if self.output != STDIO:
            yield f"Written: {self.output}"


@dataclass
class ListSummary(ModelSummary):
    """Counts of lists: ``repaired`` after a reply without one, ``topped_up`` because they were short."""

    repaired: int = 0
    topped_up: int = 0

    def asked_again(self, noun: str) -> Iterator[str]:
        """The lines on further requests."""
        again = "{} no list at first, and the model was asked again."
        yield from noted(self.repaired, again, "reply had", "replies had")
        more = f"{{}} too short at first, and the model was asked for more {noun}."
        yield from noted(self.topped_up, more, "list was", "lists were")


@dataclass
class GenerateSummary(ListSummary):
    """Counts for the summary.

    ``served`` is the number of ``queries`` with entries, ``asked`` that of model calls; ``topped_up`` counts
    the lists after which more entries were requested. ``short`` maps a query (or ``query/facet``) with fewer
    entries than requested to the numbers of both, and ``failed`` one without entries to the reason.
    """

    queries: int = 0
    served: int = 0
    entries: int = 0
    duplicates: int = 0
    surplus: int = 0
    long_nuggets: int = 0
    short: dict[str, tuple[int, int]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    kind: EntryKind = "question"

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        entries = counted(self.entries, self.kind)
        queries = counted(self.served, "query")
        yield f"{entries} for {queries} ({counted(self.asked, 'model call')})."
        yield from self.asked_again(f"{self.kind}s")
        yield from noted(self.duplicates, "Dropped: {}.", f"duplicate {self.kind}")
        yield from noted(self.surplus, "Dropped: {} beyond --count.", self.kind)
        long = f"{{}} more than {MAX_NUGGET_WORDS} words (see info.flag in the bank)."
        yield from noted(self.long_nuggets, long, "nugget has", "nuggets have")
        if self.short:
            have = counted(len(self.short), "query has", "queries have")
            short = (f"{query_id!r} ({number} of {of})" for query_id, (number, of) in self.short.items())
            yield f"{have} fewer {self.kind}s than requested: {', '.join(short)}."
        for query_id, reason in self.failed.items():
            yield f"No {self.kind}s for {query_id!r}: {reason}."
        yield from self.written()


def units_of(query: Query, *, facets: bool = True) -> list[GenerationUnit]:
    """The parts of a query that get a prompt each: its facets, or the query itself."""
    if facets and query.facets:
        return [
            GenerationUnit(query.query_id, query.query_text, facet.facet_id, facet.facet_text)
            for facet in query.facets
        ]
    return [GenerationUnit(query.query_id, query.query_text)]


def generate(
    queries: Iterable[Query],
    answer: Answer,
    *,
    model: str,
    provenance: Mapping[str, Any],
    options: GenerateOptions,
    summary: GenerateSummary | None = None,
) -> list[BankLine]:
    """Bank lines for the queries with entries, in input order; ``summary`` lists the queries without entries.

    Duplicates within a query are dropped; texts that differ only in case, spaces or final punctuation are
    duplicates.
    """
    counts = summary if summary is not None else GenerateSummary()
    counts.kind = options.kind
    units = [
        unit
        for query in islice(queries, options.max_queries)
        for unit in units_of(query, facets=options.facets)
    ]
    generator = EntryGenerator(
        options.kind, options.count, options.repairs, prompts=options.prompts, top_ups=options.top_ups
    )
    results = run_requests((generator.run(unit) for unit in units), answer)
    counts.queries = len({unit.query_id for unit in units})
    seen: dict[str, set[str]] = {}
    lines = []
    for unit, result in zip(units, results, strict=True):
        texts = _kept(unit, result, options, seen.setdefault(unit.query_id, set()), counts)
        name = unit.query_id if unit.facet_id is None else f"{unit.query_id}/{unit.facet_id}"
        if not texts:
            counts.failed[name] = result.reason or "the reply has only duplicates"
            continue
        if result.requested and len(texts) < result.requested:
            counts.short[name] = len(texts), result.requested
        info = _info(generator.prompt(unit), result, model, provenance, options)
        lines.append(_line(unit, texts, info, options, counts))
    counts.served = len({line.query_id for line in lines})
    return lines


def _kept(
    unit: GenerationUnit, result: Generated, options: GenerateOptions, seen: set[str], counts: GenerateSummary
) -> list[str]:
    counts.repaired += result.repaired
    counts.topped_up += bool(result.top_ups)
    fresh = []
    for text in result.texts:
        key = normalised_text(text)
        counts.duplicates += key in seen
        if key not in seen:
            seen.add(key)
            fresh.append(text)
    limit = options.count or (PUBLISHED_COUNT if unit.facet_id is None else len(fresh))
    counts.surplus += max(0, len(fresh) - limit)
    return fresh[:limit]


def _info(
    prompt: Prompt,
    result: Generated,
    model: str,
    provenance: Mapping[str, Any],
    options: GenerateOptions,
) -> dict[str, Any]:
    record = bank_info(prompt, options.kind, model, provenance, options.test_collection)
    record |= {"reply": result.reply, "calls": result.calls}
    if result.top_ups:
        top_up = TOP_UP_PROMPTS[options.kind]
        record["top_ups"] = {
            "prompt_class": top_up.name,
            "prompt_version": top_up.version,
            "prompt_hash": top_up.hash,
            "replies": list(result.top_ups),
        }
    return record


def bank_info(
    prompt: Prompt,
    kind: EntryKind,
    model: str,
    provenance: Mapping[str, Any],
    test_collection: str,
) -> dict[str, Any]:
    """The ``info`` of a bank line: the keys of published question banks, and further keys of exam_pp.

    The published time stamp is omitted, so that equal runs write equal files.
    """
    return {
        "gpt_model": model,
        "format_instruction": "json",
        "prompt_style": prompt.style,
        TARGET: f"{kind}s",
        "test_collection": test_collection,
        "hash": prompt.hash,
        "description": "",
        "llm_options": dict(provenance),
        "prompt_info": prompt_info(prompt),
    }


def prompt_info(prompt: Prompt) -> dict[str, Any]:
    """The record of a prompt in the ``info`` of a bank line."""
    return {"prompt_class": prompt.name, "prompt_version": prompt.version, "prompt_hash": prompt.hash}


def _line(
    unit: GenerationUnit,
    texts: Sequence[str],
    info: dict[str, Any],
    options: GenerateOptions,
    counts: GenerateSummary,
) -> BankLine:
    items: list[Entry] = []
    for text in texts:
        # other prompts have other limits
        words = 0 if options.prompts or options.kind == "question" else len(text.split())
        is_long = words > MAX_NUGGET_WORDS
        flag = {"flag": f"{words} words, asked for at most {MAX_NUGGET_WORDS}"}
        fields: dict[str, Any] = {"info": flag} if is_long else {}
        counts.long_nuggets += is_long
        items.append(make_entry(options.kind, unit.query_id, text, unit.facet_id, **fields))
    counts.entries += len(items)
    facet = {} if unit.facet_id is None else {"facet_id": unit.facet_id, "facet_text": unit.facet_text}
    return BankLine(
        query_id=unit.query_id,
        **facet,
        test_collection=options.test_collection,
        query_text=unit.query_text,
        info=info,
        items=items,
    )


@contextmanager
def answering(
    files: GradeFiles, model: ModelOptions, advance: Advance, summary: ModelSummary
) -> Iterator[tuple[LLM, Answerer]]:
    """Load a model, whose replies go to the journal of the files, and count its calls."""
    llm = load_llm(model)
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        yield llm, answer
        summary.asked = answer.asked


def nothing_written(model: str, what: str, reasons: Iterable[str]) -> SelectionError:
    """The error if a model wrote nothing, with the most frequent reason."""
    reason, count = Counter(reasons).most_common(1)[0]
    return SelectionError(
        f"The model {model!r} wrote no {what}. Most frequent reason ({counted(count, 'time')}): {reason}."
    )


def generate_file(
    queries: Path,
    output: Path,
    model: ModelOptions,
    options: GenerateOptions,
    *,
    journal: Path | None = None,
    retry_failed: bool = False,
    advance: Advance = lambda _steps, _total: None,
) -> GenerateSummary:
    """Write a bank for the queries of a file; an interrupted run continues from its journal.

    The summary lists the queries without entries. Raises :class:`exam_pp.errors.ExamError`, for example if no
    query gets an entry.
    """
    files = GradeFiles(queries, output, None, journal, retry_failed)
    check_output(output, files.inputs)
    selected = list(read_queries(queries).values())[: options.max_queries]
    _check_facets(selected, queries)
    _check_prompts(options, [u for query in selected for u in units_of(query, facets=options.facets)])
    advance(0, sum(len(units_of(query, facets=options.facets)) for query in selected))
    summary = GenerateSummary(output=str(output))
    with answering(files, model, advance, summary) as (llm, answer):
        lines = generate(
            selected, answer, model=llm.name, provenance=llm.provenance(), options=options, summary=summary
        )
        if not lines:
            what = f"{options.kind}s for {counted(summary.queries, 'query')}"
            raise nothing_written(llm.name, what, summary.failed.values())
        write_bank(lines, output, inputs=files.inputs)
    return summary


def _check_prompts(options: GenerateOptions, units: Iterable[GenerationUnit]) -> None:
    """Raise :class:`SelectionError` unless the prompts are for this kind of entry and for all units."""
    if not options.prompts:
        return
    rule = LIST_RULES[f"{options.kind}s"]
    for prompt in options.prompts:
        if prompt.kind != "generate" or prompt.parse is not rule:
            raise SelectionError(
                f"The prompt {prompt.name!r} does not generate {options.kind}s; it needs kind = 'generate' "
                f"and reading = '{rule.name}'."
            )
    own = [explores_facets(prompt) for prompt in options.prompts]
    if len(set(own)) < len(own):
        raise SelectionError(
            "Two prompt files are for the same requests; use one with the placeholder {subtopic} for facets "
            "and one without it for queries."
        )
    for unit in units:
        facet = unit.facet_text is not None
        if facet not in own:
            what, hint = (
                ("facets", "with the placeholder {subtopic}, or use --facets title")
                if facet
                else ("queries without facets", "without the placeholder {subtopic}")
            )
            raise SelectionError(f"The prompt files are not for {what}; add a prompt file {hint}.")


def _check_facets(queries: Iterable[Query], file: Path) -> None:
    for query in queries:
        for facet_id, count in Counter(facet.facet_id for facet in query.facets or ()).items():
            if count > 1:
                raise DataError(
                    f"the query {query.query_id!r} has the facet {facet_id!r} more than once.", file=str(file)
                )
        for facet in query.facets or ():
            if not facet.facet_text.strip():
                raise DataError(
                    f"the facet {facet.facet_id!r} of the query {query.query_id!r} has no text.",
                    file=str(file),
                )
