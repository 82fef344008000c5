"""Comparison of answers: a model plays games between the answers of two systems to a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.games import Game, QueryGames
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.graders.base import Grading
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.graders.pairwise import PairGrader
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS
from exam_pp.phases.grading.grading_run import (
    CHAT_PIPELINES,
    Advance,
    GradeFiles,
    no_answers,
    open_journal,
    prepare_llm,
)
from exam_pp.phases.grading.scheduler import (
    WINDOW_REQUESTS,
    Answer,
    Answerer,
    results_in_windows,
)
from exam_pp.phases.tournaments.contests import (
    Contest,
    DocumentRule,
    GamesJudge,
    Played,
    contest_of,
    drawn_pairs,
    planned_games,
)
from exam_pp.prompts import Prompt
from exam_pp.prompts.base import DOCUMENTS_SLOT, Unparsed
from exam_pp.prompts.pairwise import FACTORS, LETTER, PAIRWISE_ANSWERS, Evidence, pairwise_answers
from exam_pp.store.files import check_output
from exam_pp.store.games_files import read_games, write_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class CompareFiles(GradeFiles):
    """The files of a comparison; ``games`` is a games file that the new games extend."""

    games: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """The input files."""
        return [*super().inputs, *([self.games] if self.games is not None else [])]


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison.

    ``prompt``: A prompt of the kind ``pair``; None for that of the paper. ``evidence``: Contents of the
    documents in the prompt; None for their texts. ``factors``: The factors that the judge considers; None for
    those of the paper. ``min_relevance``: The lowest label of documents in the prompt; None shows all.
    ``systems``: Names of the systems that play; empty for all. ``max_queries``: Number of queries from the
    beginning of the file; None for all. ``games_per_query``: Number of pairs that are drawn for each query;
    None for all pairs. ``same_text_is_tie``: Whether answers with the same words tie without a call.
    """

    prompt: Prompt | None = None
    evidence: Evidence | None = None
    answers_cite: bool = False
    factors: str | None = None
    min_relevance: int | None = None
    reasons: GradeFilter | None = None
    systems: Sequence[str] = ()
    max_queries: int | None = None
    games_per_query: int | None = None
    both_orders: bool = False
    seed: int = 0
    same_text_is_tie: bool = False
    unparsed: Unparsed = "ungraded"

    def resolved(self) -> CompareOptions:
        """The options with their defaults; raises :class:`SelectionError` for those without an effect."""
        prompt = self.prompt or PAIRWISE_ANSWERS
        if prompt.kind != "pair":
            raise SelectionError(
                f"The prompt {prompt.name!r} does not compare answers; its kind is {prompt.kind!r}."
            )
        if prompt is PAIRWISE_ANSWERS:
            evidence = self.evidence or "text"
            prompt = pairwise_answers(evidence, self.answers_cite)
        else:
            shows = DOCUMENTS_SLOT in prompt.slots
            evidence = self.evidence or ("text" if shows else "none")
            if self.answers_cite:
                raise SelectionError(
                    f"--answers-cite changes a sentence of {PAIRWISE_ANSWERS.name}, not of the prompt "
                    f"{prompt.name!r}."
                )
            if evidence != "none" and not shows:
                raise SelectionError(
                    f"--evidence has no effect: the prompt {prompt.name!r} has no placeholder {{documents}}."
                )
        if self.factors is not None and "factors" not in prompt.slots:
            raise SelectionError(
                f"--factors has no effect: the prompt {prompt.name!r} has no placeholder {{factors}}."
            )
        if self.min_relevance is not None and evidence == "none":
            raise SelectionError("--min-judgment has no effect, because the prompt shows no documents.")
        return replace(self, prompt=prompt, evidence=evidence, factors=self.factors or FACTORS)


@dataclass
class CompareSummary:
    """Counts of games.

    ``without_call``: New games that a rule decided without a model call, by rule. ``reused``: Games of the
    same judge that were not played again. ``without_text``: Queries without a text, which have no games.
    ``unknown``: Systems of the games file without one.
    """

    queries: int = 0
    winners: Counter[str] = field(default_factory=Counter)
    without_call: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    kept: int = 0
    shortened: int = 0
    without_text: list[str] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    asked: int = 0
    output: str = ""

    @property
    def graded(self) -> int:
        """New games with a winner, or a tie."""
        return self.winners.total() + self.without_call.total()

    @property
    def new(self) -> int:
        """New games, also ungraded ones."""
        return self.graded + self.reasons.total()

    def add(self, game: Game) -> None:
        """Count a new game."""
        self.shortened += bool(game.tokens_cut)
        if game.winner is None:
            self.reasons[str((game.error or {}).get("failure_reason"))] += 1
        elif game.decided_by in ("reply", "choice"):
            self.winners[game.winner] += 1
        else:
            self.without_call[str(game.decided_by)] += 1

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.graded, 'game')} played, {self.reasons.total()} ungraded, {self.reused} played "
            f"before ({counted(self.queries, 'query')}, {counted(self.asked, 'model call')})."
        )
        if self.winners.total():
            won, lost = self.winners["A"], self.winners["B"]
            share = f": place A wins {won / (won + lost):.0%} of the games without ties" if won + lost else ""
            yield f"Place A wins {won}, place B {lost}, ties {self.winners['C']}{share}."
        for rule, count in self.without_call.most_common():
            yield f"Without a model call: {count} × {rule}."
        for reason, count in self.reasons.most_common():
            yield f"Ungraded: {count} × {reason}."
        if self.shortened:
            yield f"{counted(self.shortened, 'game has', 'games have')} documents shortened to fit the model."
        if self.kept:
            yield f"{counted(self.kept, 'other game')} kept."
        if self.unknown:
            systems = counted(len(self.unknown), "system that has", "systems that have")
            yield f"Kept games name {systems} no answer in the passages: {listed(self.unknown)}."
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"No games for {queries} without a text: {listed(self.without_text)}."
        yield f"Wrote {self.output}."


def compare(
    files: CompareFiles,
    model: ModelOptions,
    options: CompareOptions,
    advance: Advance = lambda _steps, _total: None,
) -> CompareSummary:
    """Let a model play games between the answers in a passages file.

    Args:
        files: Passages with answers, texts of the queries, and the output; its journal continues an
            interrupted run.
        model: A language model.
        options: Prompt, documents and pairs.
        advance: Called with the number of finished requests.

    Returns:
        Counts for the summary.

    Raises:
        SelectionError: The file has no answers of two systems, a selected system has none, a document has no
            label, or the prompt does not fit.
        ModelError: The model cannot be loaded.
    """
    check_output(files.output, files.inputs)
    options = options.resolved()
    texts = {} if files.queries is None else read_query_texts(files.queries)
    known = {} if files.games is None else {query.query_id: query for query in read_games(files.games)}
    rule = _document_rule(files, options)
    llm = prepare_llm(model, files)
    judge = make_judge(llm, model, options, rule, known)
    summary = CompareSummary(output=str(files.output))
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        contests = _contests(files, texts, options, rule, summary)
        lines = compared(contests, answer, judge, options, summary)
        write_games(_with_others(lines, known, summary), files.output, inputs=files.inputs)
        summary.asked = answer.asked
    if not options.systems and options.max_queries is None:
        summary.unknown = sorted(_systems_of(known.values()) - summary.answered)
    return summary


def make_judge(
    llm: LLM,
    model: ModelOptions,
    options: CompareOptions,
    rule: DocumentRule | None = None,
    known: Mapping[str, QueryGames] | None = None,
) -> GamesJudge:
    """The judge for a loaded model; raises SelectionError for a model that cannot compare answers."""
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Answers are compared by a language model; a classifier of pairs scores claims, with `exam-pp "
            "grade`."
        )
    prompt, evidence, factors = (
        options.prompt or PAIRWISE_ANSWERS,
        options.evidence or "text",
        options.factors,
    )
    short = prompt.parse is LETTER and model.pipeline in CHAT_PIPELINES
    grader = PairGrader(
        prompt,
        evidence,
        factors or FACTORS,
        options.unparsed,
        model.choose,
        options.same_text_is_tie,
        RATING_TOKENS if short else DEFAULT_MAX_NEW_TOKENS,
    )
    recorded: dict[str, Any] = {
        "evidence": evidence,
        "factors": grader.factors if "factors" in prompt.slots else None,
        "unparsed": options.unparsed if options.unparsed != "ungraded" else None,
        "min_relevance": options.min_relevance,
        "reasons_by": list(rule.selector.key) if rule and rule.selector else None,
    }
    info = prompt.provenance() | {key: value for key, value in recorded.items() if value is not None}
    return GamesJudge(grader, llm.name, llm.provenance(), info, known or {})


def _document_rule(files: CompareFiles, options: CompareOptions) -> DocumentRule:
    """The labels and reasons of documents; their grades must be those of one model and one prompt."""
    if options.evidence in ("text", "none") and options.min_relevance is None:
        return DocumentRule()
    criteria = replace(options.reasons or GradeFilter(), kind="direct")
    selector = GradeSelector(criteria)
    for query in read_passages(files.passages):
        for passage in query.passages:
            selector.select(passage)
    selector.check(str(files.passages))
    return DocumentRule(selector, options.min_relevance)


def _contests(
    files: CompareFiles,
    texts: Mapping[str, str],
    options: CompareOptions,
    rule: DocumentRule,
    summary: CompareSummary,
) -> Iterator[Contest]:
    """The contests of all queries; raises SelectionError at the end if no query has two answers."""
    answered = summary.answered
    playable = 0
    for query in islice(read_passages(files.passages), options.max_queries):
        contest = contest_of(query, texts, options.systems, rule)
        answered.update(contest.repeats)
        if len(contest.repeats) > 1 and not contest.query_text.strip():
            summary.without_text.append(contest.query_id)
            contest.answers.clear()
        playable += len(contest.repeats) > 1
        yield contest
    if missing := [system for system in options.systems if system not in answered]:
        raise no_answers(files, missing)
    if not answered:
        raise no_answers(files, options.systems)
    if summary.without_text and not playable:
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}; name a file with their texts with --queries."
        )
    if not playable:
        raise SelectionError(
            f"No query in {files.passages} has answers of two systems, only of {listed(sorted(answered))}."
        )


def compared(
    contests: Iterable[Contest],
    answer: Answer,
    judge: GamesJudge,
    options: CompareOptions,
    summary: CompareSummary,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[QueryGames]:
    """Yield the lines of the games file with the games of all drawn pairs; counts in ``summary``."""

    def tasks() -> Iterator[tuple[tuple[Contest, list[Played]], list[Grading[Game]], int]]:
        for contest in contests:
            plans = [
                plan
                for pair in drawn_pairs(
                    contest.repeats, contest.query_id, options.seed, options.games_per_query
                )
                for plan in planned_games(
                    pair, contest.query_id, contest.repeats, options.seed, options.both_orders
                )
            ]
            played = judge.played(contest.query_id, plans)
            summary.reused += len(played)
            summary.queries += bool(plans)
            done = {plan for plan, _ in played}
            units = [contest.unit(plan) for plan in plans if plan not in done]
            requests = sum(judge.grader.asks(unit) for unit in units)
            yield (contest, played), [judge.grader.run(unit) for unit in units], requests

    for (contest, played), games in results_in_windows(tasks(), answer, window_requests):
        for game in games:
            summary.add(game)
        yield judge.line(contest, games, played)


def _with_others(
    lines: Iterable[QueryGames], known: Mapping[str, QueryGames], summary: CompareSummary
) -> Iterator[QueryGames]:
    """The lines, then those of the games file for other queries; counts its other games in ``summary``."""
    written: set[str] = set()
    games = 0
    for line in lines:
        written.add(line.query_id)
        games += _count(line)
        yield line
    for query_id, line in known.items():
        if query_id not in written:
            games += _count(line)
            yield line
    summary.kept = games - summary.new - summary.reused


def _systems_of(lines: Iterable[QueryGames]) -> set[str]:
    games = (game for line in lines for of_set in line.game_sets for game in of_set.games)
    return {system for game in games for system in (game.system_a, game.system_b)}


def _count(line: QueryGames) -> int:
    return sum(len(of_set.games) for of_set in line.game_sets)
