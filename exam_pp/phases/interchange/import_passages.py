"""Import of runs, passage texts, judgments and generated answers into a passages file."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal

from exam_pp.data_model import (
    BeyondPool,
    FullRanking,
    Judgment,
    Passage,
    PassageData,
    QueryPassages,
    RankingEntry,
)
from exam_pp.defaults import CUTOFF
from exam_pp.errors import DataError
from exam_pp.formats.base import FORMATS
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.metrics.ties_in_runs import order_problem, trec_eval_ranking
from exam_pp.phases.evaluation.judgments import fraction_notes
from exam_pp.phases.evaluation.unjudged import ids_of_both
from exam_pp.phases.interchange.answer_units import (
    Unit,
    answer_documents,
    answer_passages,
    ranking_entry,
    read_any_answers,
)
from exam_pp.records import replace
from exam_pp.results import Qrel, RunLine, best_first
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.trec.answers import MAX_WORDS, MAX_WORDS_2024, Answer
from exam_pp.store.trec.queries import Query, read_queries
from exam_pp.store.trec.runs import (
    MethodName,
    full_facet_id,
    read_qrels,
    read_run,
    run_files,
    title_query,
    warn_of_skipped_files,
)
from exam_pp.store.trec.texts import read_texts
from exam_pp.text.keys import id_by_text, ids_by_text
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ImportSources:
    """The inputs and options of an import.

    ``runs`` are run files or folders of run files. The pool has the ``top`` passages of each run and query,
    by rank, then score descending, then file order. ``qrels`` have judgments, also of passages outside the
    pool; the passages of ``judged``, which are qrels too, are all pooled. ``queries`` restricts and orders
    the queries.
    ``skip_missing_texts`` drops passages without a text in ``texts``, which otherwise is an error; a text in
    several files is taken from the first. ``answers`` are split into passages by ``unit``; with texts, the
    documents that they list or cite are pooled, too. ``pages`` are run pages of TREC CAR. ``facets`` is the
    place of rankings of facets (``query/facet``).
    """

    runs: Sequence[Path] = ()
    texts: Sequence[Path] = ()
    qrels: Sequence[Path] = ()
    queries: Path | None = None
    answers: Sequence[Path] = ()
    top: int = CUTOFF
    judged: Sequence[Path] = ()
    unit: Unit = "paragraph"
    method_name: MethodName = "stem"
    skip_missing_texts: bool = False
    pages: Sequence[Path] = ()
    facets: FacetRankings = "title"

    def run_files(self) -> list[Path]:
        """All run files, also those in folders, without duplicates."""
        return list(dict.fromkeys(file for run in self.runs for file in run_files(run)))

    def files(self) -> list[Path]:
        """All input files."""
        queries = [self.queries] if self.queries is not None else []
        return [
            *self.run_files(),
            *self.pages,
            *self.texts,
            *self.qrels,
            *self.judged,
            *queries,
            *self.answers,
        ]


@dataclass(frozen=True)
class ImportSummary:
    """Counts of a passages file, and the dropped fields of the answers.

    ``facets`` is the number of facets whose rankings are stored with their title query.
    """

    queries: int
    passages: int
    judged: int
    systems: int
    dropped: DroppedFields = field(default_factory=DroppedFields, compare=False)
    facets: int = 0
    facet_rankings: FacetRankings = field(default="title", compare=False)

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        yield (
            f"Imported {counted(self.queries, 'query')}, {counted(self.passages, 'passage')} ({self.judged} "
            f"judged), {counted(self.systems, 'system')}."
        )
        if self.facets:
            done = "merged into rankings" if self.facet_rankings == "title" else "stored with the rankings"
            yield (
                f"The rankings of {counted(self.facets, 'facet')} (query/facet) are {done} of their queries; "
                "--facets has other choices."
            )
        yield from self.dropped.lines()


_Rankings = dict[tuple[str, str], dict[str, list[RunLine]]]
"""Query and system to query or facet to lines."""


def _new_rankings() -> _Rankings:
    return defaultdict(lambda: defaultdict(list))


@dataclass(slots=True)
class _Pooled:
    """A passage of the pool. ``text`` is None until it is read.

    ``answers`` are the entries of answers. ``cited_by`` is the place of an answer that lists or cites the
    passage, if nothing else needs its text.
    """

    rankings: list[RunLine] = field(default_factory=list)
    judgments: list[Qrel] = field(default_factory=list)
    text: str | None = None
    answers: list[RankingEntry] = field(default_factory=list)
    cited_by: str | None = None


def import_passages(sources: ImportSources, output: str | Path) -> ImportSummary:
    """Write a passages file without grades, and return its counts.

    A pooled passage has its rank in *every* run, also beyond ``top``, and all its judgments. A judgment of
    ``query/facet`` is stored with the query: the facet's id is its query id, the query's id its title query.
    Rankings of facets belong to the query, too, as ``facets`` says.
    Raises :class:`DataError` for missing texts, a run or answer that occurs twice, and an empty pool, and
    :class:`OutputError` for the output.
    """
    inputs = sources.files()
    check_output(output, inputs)
    queries = read_queries(sources.queries) if sources.queries else None
    pool = _Pool(queries, sources.facets)
    runs = sources.run_files()
    for path in sources.runs:
        warn_of_skipped_files(path)
    pool.add_runs(runs, sources.top, sources.method_name)
    pool.add_pages(sources.pages, sources.top)
    pool.add_answers(sources.answers, sources.unit, with_texts=bool(sources.texts))
    qrels = [judgment for path in sources.qrels for judgment in read_qrels(path)]
    judged = [judgment for path in sources.judged for judgment in read_qrels(path)]
    for note in fraction_notes(judgment.relevance for judgment in (*qrels, *judged)):
        log.warning("%s", note)
    pool.add_judgments(qrels, judged)
    pool.add_rankings(runs, sources.method_name)
    pool.add_texts(sources.texts, skip_missing=sources.skip_missing_texts)
    pool.log_ignored()
    return pool.write(output, inputs)


def passages_of_answers(
    answers: Iterable[Answer], unit: Unit, file: Path, dropped: DroppedFields
) -> Iterator[QueryPassages]:
    """Make passages of answers as :func:`import_passages` does; ``file`` has the answers, for messages."""
    pool = _Pool(None)
    pool.dropped = dropped
    for answer in answers:
        pool.add_answer(answer, unit, file)
    return pool.queries()


class _Pool:
    """The pool under construction: query id to passage id to pooled passage."""

    def __init__(self, queries: Mapping[str, Query] | None, facet_rankings: FacetRankings = "title") -> None:
        self._restricted = queries is not None
        self._passages: dict[str, dict[str, _Pooled]] = {query_id: {} for query_id in queries or ()}
        self._listed = frozenset(self._passages)
        self._ids = ids_by_text({query_id: query.query_text for query_id, query in (queries or {}).items()})
        self._texts = {query_id: query.query_text for query_id, query in (queries or {}).items()}
        self._facet_rankings = facet_rankings
        self._facets = {
            query_id: [full_facet_id(query_id, facet.facet_id) for facet in query.facets or ()]
            for query_id, query in (queries or {}).items()
        }
        self._ranked_facets: dict[str, set[str]] = {}
        self._page_rankings: list[tuple[str, RunLine]] = []
        self._full_rankings: dict[str, list[FullRanking]] = defaultdict(list)
        self._outside: dict[str, list[Qrel]] = defaultdict(list)
        self._are_judged = False
        self._page_texts: dict[str, str] = {}
        self._sources: dict[str, Path] = {}
        self._answering: set[str] = set()
        self._depth = CUTOFF
        self._uncited: list[tuple[str, str]] = []
        self._ignored: dict[str, set[str]] = defaultdict(set)
        self._without_text = 0
        self.dropped = DroppedFields()

    def add_runs(self, files: Sequence[Path], top: int, method_name: MethodName) -> None:
        """Pool the top passages of each run, without ranks, which :meth:`add_rankings` adds."""
        self._depth = top
        for file in files:
            rankings = _new_rankings()
            for line in read_run(file, method=method_name):
                self._register_system(line.system, file)
                title = self._title_of(line.query_id)
                if self._accepts(title, "runs"):
                    rankings[title, line.system][line.query_id].append(line)
            if file not in self._sources.values():
                raise DataError("has no results; remove the file or create the run again.", file=str(file))
            if problem := order_problem(chain.from_iterable(of.values() for of in rankings.values())):
                log.warning("%s: %s.", file, problem)
            self._pool_top(rankings, top)

    def add_rankings(self, files: Sequence[Path], method_name: MethodName) -> None:
        """Add the ranks of all pooled passages, and all ids of each ranking, in a second pass.

        So a single run is in memory with more than the ids.
        """
        for file in files:
            rankings = _new_rankings()
            for line in read_run(file, method=method_name):
                title = self._title_of(line.query_id)
                if title in self._passages:
                    rankings[title, line.system][line.query_id].append(line)
            self._add_ranks(rankings)
        of_pages = _new_rankings()
        for title, line in self._page_rankings:
            of_pages[title, line.system][line.query_id].append(line)
        self._add_ranks(of_pages)

    def _add_ranks(self, rankings: _Rankings) -> None:
        for title, ranking in self._rankings(rankings):
            for line in ranking:
                if pooled := self._passages[title].get(line.passage_id):
                    pooled.rankings.append(line)
            # One text for each id, whatever the number of runs that rank it.
            scores = {sys.intern(line.passage_id): line.score for line in ranking}
            full = trec_eval_ranking(scores)
            query_id, method = ranking[0].query_id, ranking[0].system
            self._full_rankings[title].append(FullRanking(method=method, query_id=query_id, passages=full))

    def add_pages(self, files: Sequence[Path], top: int) -> None:
        """Pool the top passages of run pages, whose ranks :meth:`add_rankings` adds.

        The order of a page is its merged ranking.
        """
        for file in files:
            read = FORMATS.get("car-pages").records
            assert read is not None, "run pages can be read"
            rankings = _new_rankings()
            for number, page in read(file):
                self._register_system(page.run_id, file)
                lines = page.page_ranking() if self._facet_rankings == "title" else page.facet_rankings()
                for line in lines:
                    title = line.query_id if self._facet_rankings == "facet" else page.squid
                    if self._accepts(title, "pages"):
                        rankings[title, line.system][line.query_id].append(line)
                        self._page_rankings.append((title, line))
                for paragraph in page.paragraphs:
                    text = paragraph.text
                    if text is not None and self._page_texts.setdefault(paragraph.para_id, text) != text:
                        raise DataError(
                            f"the text of the paragraph {paragraph.para_id!r} differs from that on an "
                            "earlier page; a paragraph id must have one text.",
                            file=str(file), line=number, field="paragraphs",
                        )  # fmt: skip
            self._pool_top(rankings, top)

    def _pool_top(self, rankings: _Rankings, top: int) -> None:
        for (title, _), by_query in rankings.items():
            if facets := by_query.keys() - {title}:
                self._ranked_facets.setdefault(title, set()).update(facets)
        for title, ranking in self._rankings(rankings):
            for line in best_first(ranking)[:top]:
                self._passages[title].setdefault(line.passage_id, _Pooled())

    def _rankings(self, rankings: _Rankings) -> Iterator[tuple[str, Sequence[RunLine]]]:
        """Yield pairs of query and ranking: one per system, or one per system and facet."""
        for (title, _), by_query in rankings.items():
            if self._facet_rankings == "title":
                yield title, merged_ranking(by_query, title, self._facets.get(title, ()))
            else:
                yield from ((title, lines) for lines in by_query.values())

    def _title_of(self, query_id: str) -> str:
        """The query that has the ranking: with ``facet`` the facet itself."""
        if self._facet_rankings == "facet":
            return query_id
        return title_query(query_id, self._listed, guess=not self._restricted)

    def add_answers(self, files: Sequence[Path], unit: Unit, *, with_texts: bool) -> None:
        """Add answers as passages that their system ranks in order.

        Their documents are pooled if they can have a text: in the file of answers, or with ``with_texts``.
        """
        answered: dict[tuple[str, str, int | None], Path] = {}
        empty: list[str] = []
        long: list[str] = []
        unlisted: list[str] = []
        read = [(file, each) for file in files for each in read_any_answers(file, self.dropped)]
        if not self._restricted:
            self._ids = ids_by_text({each.query_id: each.query_text for _, each in read})
        for file, each in read:
            query_id = id_by_text(each.query_id, each.query_text, self._listed, self._ids)
            answer = dataclasses.replace(each, query_id=query_id)
            if not self._accepts(answer.query_id, "answers"):
                continue
            key = (answer.system, answer.query_id, answer.repeat)
            if key in answered:
                raise DataError(
                    f"the system {answer.system!r} answers the query {answer.query_id!r} twice; "
                    f"the first answer is in {answered[key]}.",
                    file=str(file),
                )
            answered[key] = file
            self.add_answer(answer, unit, file, with_texts=with_texts)
            unlisted += [f"{docid!r}, {_place(answer, file)}" for docid in answer.unlisted]
            if not answer.parts:
                empty.append(_place(answer, file))
            if sum(len(part.text.split()) for part in answer.parts) > answer.max_words:
                long.append(_place(answer, file))
        limit = f"more words than TREC RAG accepts ({MAX_WORDS_2024} in 2024, {MAX_WORDS:,} in 2026)"
        for places, has, have in (
            (
                empty,
                "answer has no text and is imported as an empty passage",
                "answers have no text and are imported as empty passages",
            ),
            (
                unlisted,
                "citation is no reference of its answer",
                "citations are no references of their answers",
            ),
            (long, f"answer has {limit} and is not cut", f"answers have {limit} and are not cut"),
        ):
            if places:
                log.warning("%s (first: %s).", counted(len(places), has, have), places[0])

    def add_answer(self, answer: Answer, unit: Unit, file: Path, *, with_texts: bool = False) -> None:
        """Add an answer of a query that is accepted, and the documents that can have a text."""
        self._answering.add(answer.system)
        if answer.query_text.strip():
            self._texts.setdefault(answer.query_id, answer.query_text)
        cited = {docid for part in answer.parts for docid in part.citations}
        # Dropped unless the pool has their passages, which is known only when it is written.
        self._uncited += [(answer.query_id, docid) for docid in set(answer.references) - cited]
        passages = self._passages.setdefault(answer.query_id, {})
        if with_texts or answer.texts:
            self._add_documents(answer, file)
        for entry, text in answer_passages(answer, unit, self.dropped):
            if entry.passage_id in passages:
                raise DataError(
                    f"the passage id {entry.passage_id!r}, made for a part of an answer, is also in a run.",
                    file=str(file),
                )
            passages[entry.passage_id] = _Pooled(text=text, answers=[entry])

    def _add_documents(self, answer: Answer, file: Path) -> None:
        """Pool the documents of an answer; without a run of its system, its references are the ranking."""
        passages = self._passages[answer.query_id]
        texts = dict(answer.texts)
        for docid, entry in answer_documents(answer).items():
            pooled = passages.setdefault(docid, _Pooled(cited_by=_place(answer, file)))
            if entry is not None and answer.system not in self._sources:
                pooled.answers.append(entry)
            text = texts.get(docid, pooled.text)
            if pooled.text not in (None, text):
                raise DataError(
                    f"the passage {docid!r} of the query {answer.query_id!r} has another text in an earlier "
                    "answer; a passage id must have one text.",
                    file=str(file), line=answer.line, field="passage",
                )  # fmt: skip
            pooled.text = text

    def add_judgments(self, qrels: Sequence[Qrel], judged: Sequence[Qrel] = ()) -> None:
        """Add the judgments; the passages of ``judged`` are pooled first."""
        known = frozenset(self._passages)
        guess = not self._restricted and self._facet_rankings != "facet"
        used = 0
        self._are_judged = bool(qrels or judged)
        for qrel in judged:
            query_id = title_query(qrel.query_id, known, guess=guess)
            if self._accepts(query_id, "judgments"):
                self._passages[query_id].setdefault(qrel.passage_id, _Pooled()).cited_by = None
        for qrel in (*judged, *qrels):
            query_id = title_query(qrel.query_id, known, guess=guess)
            if pooled := self._passages.get(query_id, {}).get(qrel.passage_id):
                pooled.judgments.append(qrel)
                used += 1
            elif query_id in known:
                self._outside[query_id].append(qrel)
        if self._outside:
            number = sum(map(len, self._outside.values()))
            are = counted(number, "judgment is of a passage", "judgments are of passages")
            log.info(
                "%s outside the pool: measures of the judgments count them; --from qrels FILE pools every "
                "judged passage.",
                are,
            )
        if (qrels or judged) and not used:
            log.warning(
                "No judgment is of a pooled passage; check that judgments and runs have the same passage ids."
            )

    def add_texts(self, files: Sequence[Path], *, skip_missing: bool) -> None:
        """Read the texts of the pooled passages; raise :class:`DataError` or drop passages without a text."""
        needed = set()
        required = set()
        for passages in self._passages.values():
            for passage_id, pooled in passages.items():
                if pooled.text is None and (text := self._page_texts.get(passage_id)) is not None:
                    pooled.text = text
                elif pooled.text is None:
                    needed.add(passage_id)
                    # A document that only answers name may lack a text, because a citation needs only its id.
                    if pooled.cited_by is None:
                        required.add(passage_id)
        if not needed:
            return
        texts: dict[str, str] = {}
        for file in files:
            texts |= read_texts(file, needed - texts.keys())
        missing = sorted(required - texts.keys())
        if missing:
            problem = f"{len(missing)} of {len(required)} pooled passages have no text ({listed(missing)})"
            if not skip_missing:
                raise DataError(
                    f"{problem}; name a file with their texts with --texts, or drop the passages with "
                    "--repair.",
                    file=", ".join(map(str, files)) or None,
                )
            log.warning("%s and are dropped.", problem)
            self._without_text = len(missing)
        self._warn_of_missing_documents(needed - required - texts.keys())
        for query_id, passages in self._passages.items():
            for passage_id, pooled in passages.items():
                if pooled.text is None:
                    pooled.text = texts.get(passage_id)
            self._passages[query_id] = {
                passage_id: pooled for passage_id, pooled in passages.items() if pooled.text is not None
            }

    def _warn_of_missing_documents(self, missing: Collection[str]) -> None:
        """Warn of documents of answers without a text, whose citations stay in the file."""
        if not missing:
            return
        docid, place = next(
            (docid, pooled.cited_by)
            for passages in self._passages.values()
            for docid, pooled in passages.items()
            if docid in missing
        )
        are = counted(
            len(missing), "passage that answers list or cite is", "passages that answers list or cite are"
        )
        log.warning(
            "%s not in the texts and not imported (first: %r, %s); citations of it are kept.",
            are,
            docid,
            place,
        )

    def log_ignored(self) -> None:
        """Log how many queries are not in the queries file, or have no passages."""
        for source, query_ids in self._ignored.items():
            are = counted(len(query_ids), f"query of the {source} is", f"queries of the {source} are")
            log.info("%s ignored: not in the queries file (such as %s).", are, min(query_ids))
        empty = [query_id for query_id, passages in self._passages.items() if not passages]
        if empty:
            have = counted(len(empty), "query has no passages and is", "queries have no passages and are")
            log.warning("%s not written (first: %s).", have, empty[0])

    def write(self, output: str | Path, inputs: Iterable[Path]) -> ImportSummary:
        """Write all queries with passages; raises :class:`DataError` for an empty pool."""
        if not any(self._passages.values()):
            raise DataError(
                "No pooled passage has a text; check that --texts has the passage ids of runs and judgments."
                if self._without_text
                else "The pool is empty; the runs, judgments, answers and queries have no query in common"
                + "".join(
                    f"; {ids_of_both(ids, self._passages, f'the {source}', 'the queries')}"
                    for source, ids in self._ignored.items()
                )
                + "."
            )
        judged = passages = queries = 0
        systems: set[str] = set()
        with passages_writer(output, inputs=inputs) as writer:
            for query in self.queries():
                writer.write(query)
                queries += 1
                passages += len(query.passages)
                judged += sum(bool(passage.judgments) for passage in query.passages)
                systems.update(entry.method for passage in query.passages for entry in passage.rankings)
        facets = sum(map(len, self._ranked_facets.values()))
        return ImportSummary(
            queries, passages, judged, len(systems), self.dropped, facets, self._facet_rankings
        )

    def queries(self) -> Iterator[QueryPassages]:
        """The queries with passages, without documents that have no text."""
        kept = {
            query_id: {key: pooled for key, pooled in passages.items() if pooled.text is not None}
            for query_id, passages in self._passages.items()
        }
        lost = sum(docid not in kept[query_id] for query_id, docid in self._uncited)
        self.dropped.add("retrieved documents without texts", lost)
        for query_id, passages in kept.items():
            if passages:
                text = self._texts.get(query_id, "")
                made = [
                    _passage(query_id, *item, self._answering, text, self._depth) for item in passages.items()
                ]
                if self._are_judged or self._full_rankings:
                    data = replace(made[0].data, beyond_pool=self._beyond_pool(query_id))
                    made[0] = replace(made[0], data=data)
                yield QueryPassages(query_id, made)

    def _beyond_pool(self, query_id: str) -> BeyondPool:
        outside = self._outside.get(query_id, ())
        return BeyondPool(
            judgments=[_judgment(query_id, qrel) for qrel in outside],
            rankings=self._full_rankings.get(query_id, []),
        )

    def _accepts(self, query_id: str, source: str) -> bool:
        """Whether the query is imported; collects ignored queries by source for :meth:`log_ignored`."""
        if query_id in self._passages:
            return True
        if self._restricted:
            self._ignored[source].add(query_id)
            return False
        self._passages[query_id] = {}
        return True

    def _register_system(self, system: str, file: Path) -> None:
        """Record the file of a system; raises DataError if another file has the same system."""
        if self._sources.setdefault(system, file) != file:
            raise DataError(
                f"the system {system!r} is also in {self._sources[system]}; rename one of the files, or "
                "choose the other --method-name.",
                file=str(file),
            )


def _place(answer: Answer, file: Path) -> str:
    """The file, line and query of an answer, for messages."""
    line = "" if answer.line is None else f", line {answer.line}"
    return f"{file}{line}, query {answer.query_id}"


def _passage(
    query_id: str, passage_id: str, pooled: _Pooled, answering: Collection[str], query_text: str, depth: int
) -> Passage:
    """The passage for the file; ``answering`` are the systems whose runs have the role ``retrieved``."""
    judgments = [_judgment(query_id, qrel) for qrel in pooled.judgments]
    rankings = [
        *pooled.answers,
        *(ranking_entry(line, "retrieved" if line.system in answering else None) for line in pooled.rankings),
    ]
    stored: dict[str, Any] = {"query_text": query_text} if query_text else {}
    if depth < CUTOFF and pooled.rankings:
        # Below it, a ranking has only passages that another system ranked higher.
        stored["pool_depth"] = depth
    data = PassageData(judgments=judgments, rankings=rankings, **stored)
    return Passage(passage_id=passage_id, text=pooled.text or "", data=data)


def _judgment(query_id: str, qrel: Qrel) -> Judgment:
    return Judgment(
        passage_id=qrel.passage_id, query_id=qrel.query_id, relevance=qrel.whole, title_query=query_id
    )


FacetRankings = Literal["title", "keep", "facet"]
"""The place of the ranking of a facet.

``title``: the rankings of all facets become one ranking of the query. ``keep``: the rankings are stored with
the query, each with the id of its facet. ``facet``: a facet is a query of its own.
"""


def merged_ranking(
    rankings: Mapping[str, Sequence[RunLine]], query_id: str, facets: Collection[str] = ()
) -> Sequence[RunLine]:
    """Merge the rankings of a query and its facets: the first passage of each, the second of each, and so on.

    The query comes first, then its facets. A passage counts at the first place at which it occurs. Scores are
    ignored, because systems score each facet on its own scale.

    ``facets``: Ids of facets in the order of the query; other facets follow in the order of ``rankings``.
    Returns the lines, best first, with ranks from 1 and scores *n*, *n* - 1 ... 1. If no facet has a ranking,
    the unchanged lines of the query.
    """
    if rankings.keys() <= {query_id}:
        return rankings.get(query_id, ())
    order = dict.fromkeys((query_id, *facets, *rankings))
    ordered = (best_first(rankings[key]) for key in order if key in rankings)
    merged: dict[str, RunLine] = {}
    for line in chain.from_iterable(zip_longest(*ordered)):
        if line is not None:
            merged.setdefault(line.passage_id, line)
    return [
        line._replace(query_id=query_id, rank=rank, score=float(len(merged) - rank + 1))
        for rank, line in enumerate(merged.values(), 1)
    ]
