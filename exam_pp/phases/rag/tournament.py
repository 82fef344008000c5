"""Tournament of RAG systems from their files: import, reasons of documents, games, ratings and biases.

Every step is that of another command, such as `exam-pp compare`, and writes its file into the output folder.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.data_model import DirectGrade
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm.base import ModelOptions
from exam_pp.metrics.head_to_head import HeadToHead
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.phases.grading.steps import Progress, Steps, asked, is_data_set, no_progress
from exam_pp.phases.interchange.convert import Conversion, convert
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.phases.passages.merge import merge_files
from exam_pp.phases.tournaments.biases import GameBiases, game_biases
from exam_pp.phases.tournaments.compare import CompareFiles, CompareOptions, compare
from exam_pp.phases.tournaments.outcomes import judged_games
from exam_pp.phases.tournaments.ratings import RatingOptions, Ratings, compare_pairs, rate
from exam_pp.prompts.base import DOCUMENTS_SLOT, with_aliases
from exam_pp.prompts.pairwise import PAIRWISE_ANSWERS
from exam_pp.prompts.reasoner import REASONER
from exam_pp.roles import accepted_entries, answers_in
from exam_pp.store.files import is_read_once
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import Query, read_query_texts, write_queries
from exam_pp.wording import counted, listed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TournamentSources:
    """The files of a tournament.

    Attributes:
        queries: Texts of the queries, in any format of queries.
        passages: A passages file with answers; None if ``answers`` are given.
        answers: Answers of systems, in any format of answers.
        documents: Documents of the queries: passages in any format of passages, such as documents.csv of
            RAGElo, or texts of the passages that answers list or cite.
    """

    queries: Path
    passages: Path | None = None
    answers: Sequence[Path] = ()
    documents: Sequence[Path] = ()

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Pairs of role and path of all files."""
        files = [] if is_data_set(self.queries) else [("query texts", self.queries)]
        files += [] if self.passages is None else [("passages", self.passages)]
        files += [("answers", path) for path in self.answers]
        return files + [("documents", path) for path in self.documents]

    @property
    def answering(self) -> str:
        """Names of the files with answers, for messages."""
        return listed([str(path) for path in self.answers or (self.passages,)])


@dataclass(frozen=True)
class TournamentOptions:
    """Options of the steps.

    Attributes:
        games: Options of the games.
        reasons: Whether the model first labels the documents, with a reason that the judge reads.
        ratings: Options of the ratings.
    """

    games: CompareOptions = field(default_factory=CompareOptions)
    reasons: bool = False
    ratings: RatingOptions = field(default_factory=RatingOptions)

    def checked(self) -> TournamentOptions:
        """The options with the documents that the games show.

        Raises :class:`SelectionError` for options without an effect.
        """
        games = self.games
        if self.reasons:
            prompt = games.prompt or PAIRWISE_ANSWERS
            shown = games.evidence or ("both" if DOCUMENTS_SLOT in prompt.slots else "none")
            if shown in ("text", "none") and games.min_relevance is None:
                raise SelectionError(
                    "--reasons has no effect: the prompt of the games shows no reasons; use --evidence both, "
                    "--evidence reason or --min-relevance."
                )
            games = replace(games, evidence=shown)
        games.resolved()
        return replace(self, games=games)


@dataclass(frozen=True)
class Tournament:
    """The result of a tournament.

    Attributes:
        sources: The files of the user.
        passages: The passages file with all answers and documents.
        games: The games file.
        ratings: The ratings of the systems.
        pairs: Comparisons of every two systems that met.
        biases: Biases of the judge.
    """

    sources: TournamentSources
    passages: Path
    games: Path
    ratings: Ratings
    pairs: list[HeadToHead]
    biases: GameBiases


def tournament(
    sources: TournamentSources,
    folder: Path,
    model: ModelOptions,
    options: TournamentOptions | None = None,
    progress: Progress = no_progress,
) -> Tournament:
    """Rate RAG systems by games between their answers, from their files to the ratings.

    Finished steps are not computed again, and an interrupted step continues from its journal.

    Args:
        sources: The files of the user.
        folder: The output folder, which gets the files of all steps.
        model: The model that plays the games and labels documents.
        options: Options of the steps.
        progress: Makes the progress bar of a step.

    Returns:
        The ratings, with the files of the steps.

    Raises:
        DataError: A file is invalid, or has an answer to an unknown query.
        SelectionError: No query has answers of two systems, an option has no effect, or no game was played.
        ModelError: The model cannot be loaded.
    """
    options = (options or TournamentOptions()).checked()
    for _, path in sources.files:
        if is_read_once(path):
            raise SelectionError(f"'{path}' is a stream, but it is read several times. Name a file.")
    run = _Run(sources, Steps(folder, progress), model)
    passages, queries = run.passages(), run.queries()
    _check_answers(sources, passages, read_query_texts(queries), options.games)
    _check_documents(sources, passages, options)
    judged, reasons = passages, options.games.reasons
    if options.reasons:
        judged = run.reasons(passages, queries)
        reasons = with_aliases(GradeFilter(model.model, REASONER.name))
    games = run.games(judged, queries, replace(options.games, reasons=reasons))
    ratings = rate(judged_games([games]), options.ratings)
    pairs = compare_pairs(ratings, None, options.ratings.statistics.confidence)
    return Tournament(sources, judged, games, ratings, pairs, game_biases([games]))


class _Run:
    """The steps of a tournament, in order."""

    def __init__(self, sources: TournamentSources, steps: Steps, model: ModelOptions) -> None:
        self.sources = sources
        self.steps = steps
        self.model = model

    def passages(self) -> Path:
        """The passages file with all answers and documents."""
        sources = self.sources
        graded = [path for path in sources.documents if _content(path) == "passages"]
        texts = [path for path in sources.documents if path not in graded]
        if sources.passages is not None and texts:
            raise SelectionError(
                f"{texts[0]} is not a file of passages; texts of passages can only be added to --answers."
            )
        parts = [self._documents(path, number) for number, path in enumerate(graded, start=1)]
        if sources.passages is not None:
            parts.append(sources.passages)
        else:
            parts.append(self._answers(texts, "answers.jsonl.gz" if parts else "passages.jsonl.gz"))
        if len(parts) == 1:
            return parts[0]

        def work(output: Path, _advance: Any) -> Iterable[str]:
            merged = merge_files(parts, output)
            yield f"{counted(merged.queries, 'query', 'queries')}, {counted(merged.passages, 'passage')}."
            yield from merged.conflicts.lines()

        return self.steps.run("Answers and documents", "passages.jsonl.gz", parts, {}, work)

    def _documents(self, path: Path, number: int) -> Path:
        """A file of documents as a passages file."""
        form = known_format(path)
        assert form is not None
        if form.name == "graded":
            return path

        def work(output: Path, _advance: Any) -> Iterable[str]:
            return convert(Conversion(path, output, "graded", form.name)).lines()

        output = "documents.jsonl.gz" if number == 1 else f"documents-{number}.jsonl.gz"
        return self.steps.run("Documents", output, [path], {"format": form.name}, work)

    def _answers(self, texts: Sequence[Path], output: str) -> Path:
        """The answers as a passages file, with the documents that they list or cite."""
        answers = self.sources.answers

        def work(path: Path, _advance: Any) -> Iterable[str]:
            return import_passages(ImportSources(answers=answers, texts=texts, unit="whole"), path).lines()

        options = {"answers": len(answers)}
        return self.steps.run("Answers", output, [*answers, *texts], options, work)

    def queries(self) -> Path:
        """A file of query texts that all steps can read."""
        source = self.sources.queries
        form = None if is_data_set(source) else known_format(source)
        if form is None or form.content != "queries" or form.read is None:
            return source
        read = form.read

        def work(output: Path, _advance: Any) -> Iterable[str]:
            texts: dict[str, str] = {}
            found: Iterable[Query] = read(Source(source, DroppedFields()))
            for query in found:
                if not query.query_text.strip():
                    raise DataError(f"the query {query.query_id!r} has no text.", file=str(source))
                texts[query.query_id] = query.query_text
            if not texts:
                raise DataError("has no queries.", file=str(source))
            write_queries(texts, output)
            yield f"{counted(len(texts), 'query text')}."

        return self.steps.run("Queries", "queries.json", [source], {"format": form.name}, work)

    def reasons(self, passages: Path, queries: Path) -> Path:
        """The passages with a label and a reason for each document."""
        model = replace(self.model, choose=False)  # a choice of the label has no reason

        def work(path: Path, advance: Any) -> Iterable[str]:
            files = GradeFiles(passages, path, queries=queries)
            labels = GradeOptions([REASONER], soft=False, role="retrieved")
            return grade_file(files, model, labels, advance).lines()

        options = asked(model, REASONER)
        return self.steps.run("Reasons", "reasons.jsonl.gz", [passages, queries], options, work)

    def games(self, passages: Path, queries: Path, options: CompareOptions) -> Path:
        """The games file."""

        def work(path: Path, advance: Any) -> Iterable[str]:
            return compare(
                CompareFiles(passages, path, queries=queries), self.model, options, advance
            ).lines()

        settings = vars(options) | asked(self.model, options.resolved().prompt)
        del settings["prompt"]
        return self.steps.run("Games", "games.jsonl.gz", [passages, queries], settings, work)


def _content(path: Path) -> str | None:
    form = known_format(path)
    return None if form is None else form.content


def _check_answers(
    sources: TournamentSources, passages: Path, texts: Mapping[str, str], options: CompareOptions
) -> None:
    """Raise an error for answers that cannot play, and warn of queries without games."""
    systems: dict[str, set[str]] = {}
    for query in islice(read_passages(passages), options.max_queries):
        found = {system for system, _ in answers_in(query)}
        if found:
            systems[query.query_id] = found
    if unknown := [query_id for query_id in systems if query_id not in texts]:
        raise DataError(
            f"answers {counted(len(unknown), 'query', 'queries')} without a text in {sources.queries} "
            f"({listed(unknown)}); add the texts, or remove the answers.",
            file=sources.answering,
        )
    chosen = {
        query_id: found & set(options.systems) if options.systems else found
        for query_id, found in systems.items()
    }
    everyone = sorted(set().union(*chosen.values()))
    if systems and everyone and not any(len(found) > 1 for found in chosen.values()):
        raise SelectionError(
            f"A tournament needs a query with answers of two systems; {sources.answering} has only answers "
            f"of {listed(everyone)}."
        )
    alone = [query_id for query_id, found in chosen.items() if len(found) == 1]
    missing = [] if options.max_queries else [query_id for query_id in texts if query_id not in systems]
    for query_ids, problem in ((missing, "no answer"), (alone, "an answer of one system only")):
        if query_ids:
            have = counted(len(query_ids), "query has", "queries have")
            log.warning("%s %s, and no games: %s.", have, problem, listed(query_ids))


def _check_documents(sources: TournamentSources, passages: Path, options: TournamentOptions) -> None:
    """Raise SelectionError if documents or their labels are missing, and warn of files without an effect."""
    documents = labelled = False
    for query in read_passages(passages):
        for passage in query.passages:
            if (
                accepted_entries(query.query_id, passage.passage_id, passage.rankings, "retrieved")
                is not None
            ):
                documents = True
                labelled |= any(isinstance(grades, DirectGrade) for grades in passage.grade_sets())
    if not documents and options.reasons:
        raise SelectionError("--reasons needs documents to label; name their file with --documents.")
    if not documents and sources.documents:
        log.warning("--documents has no effect: the answers list and cite no document of its files.")
    uses_labels = options.games.evidence in ("reason", "both") or options.games.min_relevance is not None
    if uses_labels and not options.reasons and not labelled:
        raise SelectionError(
            "--evidence reason, --evidence both and --min-relevance need labels of the documents; let the "
            "model write them with --reasons, or name a file with direct grades in --documents."
        )
